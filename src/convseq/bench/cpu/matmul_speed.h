#pragma once

#include <vector>

#include "convseq/bench/cpu/instruction_peak.h"

namespace convseq::bench {

// One packed matmul on one thread: [rows, inputs] by [inputs, outputs].
struct MatmulSpeed {
  CpuPrecision precision{};
  int64_t rows = 0, inputs = 0, outputs = 0;
  double gigaops = 0;      // per second, of the median call
  InstructionPeak peak{};  // of one thread, measured between the calls
};

// The matmuls of a feed-forward layer of small size, with rows and weights that are random.
std::vector<MatmulSpeed> measure_matmuls(const std::vector<CpuPrecision>& precisions,
                                         double seconds);

// "matmul_int8_512x512x2048": rows × inputs × outputs; its bound is the peak.
Row row_of(const MatmulSpeed& speed);

}  // namespace convseq::bench
