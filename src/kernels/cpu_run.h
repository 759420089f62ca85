#pragma once

#include <vector>

#include "convseq/kernels/parallel.h"

namespace convseq::kernels {

// The instructions that the loops were compiled for: what every machine of the architecture has
// (NEON on Arm), or more.
enum class CpuLevel { Baseline, Avx2, Avx512 };

std::vector<CpuLevel> cpu_levels();  // those this machine can run, the widest last
CpuLevel widest_cpu_level();

// How a CPU kernel runs. Its answer depends neither on the threads nor on their number.
struct CpuRun {
  ParallelFor parallel = in_turn;
  CpuLevel level = widest_cpu_level();
};

}  // namespace convseq::kernels
