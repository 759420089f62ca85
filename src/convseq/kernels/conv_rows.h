#pragma once

#include "convseq/kernels/conv.h"

// Convolutions for inference on a CPU: some rows of one sequence, fp32, on the calling thread and
// without allocation. A row's result has the same bits as that of conv.h and of a decode step,
// however the sequence is cut into calls.
namespace convseq::kernels {

// What a row of the input holds, and what happens to it beside the convolution.
enum class ConvGate {
  None,     // [C] x
  Glu,      // [2C] x, g: the convolution reads x ⊙ σ(g)
  Product,  // [3C] b, c, x: the convolution reads b ⊙ x, and its output is multiplied by c
};

int64_t conv_input_width(const ConvShape& shape, ConvGate gate);  // C, 2C or 3C

// Output rows [begin, end) of a sequence of shape.time rows; rows outside the sequence read as
// zeros. `batch`, `type` and `glu` of the shape are not used.
struct ConvRows {
  const float* x = nullptr;  // row 0 of the sequence
  int64_t x_stride = 0;      // floats from one row to the next
  ConvGate gate = ConvGate::None;
  const float* packed_taps = nullptr;  // static ones, or null where `dynamic_taps` are given
  DynamicTaps dynamic_taps;            // [time,H,k]; row 0 of the sequence
  int64_t begin = 0;
  int64_t end = 0;
  float* y = nullptr;  // row 0 of the sequence, of which only [begin, end) are written
  int64_t y_stride = 0;
  float* workspace = nullptr;  // conv_rows_workspace() floats
};

// Static taps [H,k] in the order in which conv_rows() reads them, [C·k].
void pack_conv_taps(const ConvShape& shape, const float* taps, float* packed,
                    CpuLevel level = default_cpu_level());

// The workspace of calls with at most `rows` output rows.
int64_t conv_rows_workspace(const ConvShape& shape, ConvGate gate, int64_t rows);
void conv_rows(const ConvShape& shape, const ConvRows& arrays,
               CpuLevel level = default_cpu_level());

// One more position of one sequence of a causal convolution: reads the last (k−1)·dilation inputs,
// gated, from a ring buffer, slot = position mod (k−1)·dilation, and stores this one in it.
struct ConvStepRow {
  const float* x = nullptr;  // one row
  ConvGate gate = ConvGate::None;
  const float* static_taps = nullptr;  // [H,k], or null where `dynamic_taps` are given
  DynamicTaps dynamic_taps;            // [H,k]
  int64_t position = 0;                // of x: the number of positions before it
  float* ring = nullptr;               // [(k−1)·dilation,C], at first zeros; null where empty
  float* y = nullptr;                  // [C]
  float* workspace = nullptr;          // conv_rows_workspace(shape, gate, 1) floats
};

void conv_step_row(const ConvShape& shape, const ConvStepRow& arrays,
                   CpuLevel level = default_cpu_level());

}  // namespace convseq::kernels
