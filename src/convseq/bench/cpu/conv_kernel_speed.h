#pragma once

#include <vector>

#include "convseq/bench/benchmark_report.h"

namespace convseq::bench {

// Bytes read and written per second, in GB/s, of the kernels of a light convolution (k = 7, fp32,
// forward) without and with the GLU, and of a copy.
struct ConvKernelSpeed {
  double copy = 0;
  double light = 0;
  double light_glu = 0;
};

// On arrays that are not in the caches. The three take turns for `seconds`; the best counts.
ConvKernelSpeed measure_conv_kernels(int64_t threads, double seconds);

// "kernel_copy", and "kernel_light_k7" and "kernel_light_glu_k7", whose bound is the copy.
std::vector<Row> rows_of(const ConvKernelSpeed& speed);

}  // namespace convseq::bench
