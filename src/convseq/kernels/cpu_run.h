#pragma once

#include "convseq/kernels/cpu_level.h"
#include "convseq/kernels/parallel.h"

namespace convseq::kernels {

// How a CPU kernel runs. Its result depends neither on the threads nor on their number.
struct CpuRun {
  ParallelFor parallel = run_serially;
  CpuLevel level = default_cpu_level();
};

}  // namespace convseq::kernels
