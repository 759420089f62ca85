#pragma once

#include <vector>

#include "convseq/kernels/parallel.h"

namespace convseq::kernels {

// The instruction set that the loops are compiled for: the baseline of the architecture (NEON on
// Arm) or a larger one.
enum class CpuLevel { Baseline, Avx2, Avx512 };

std::vector<CpuLevel> cpu_levels();  // those that this machine supports, the widest last
CpuLevel widest_cpu_level();

// How a CPU kernel runs. Its result depends neither on the threads nor on their number.
struct CpuRun {
  ParallelFor parallel = run_serially;
  CpuLevel level = widest_cpu_level();
};

}  // namespace convseq::kernels
