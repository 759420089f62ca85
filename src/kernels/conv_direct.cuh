#pragma once

#include "kernels/cuda_common.cuh"

// Static convolutions of any shape, straight from global memory, one output a thread: for odd
// channel counts and taps that reach further than a tile holds.
namespace convseq::kernels {

void direct_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream);
void direct_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream);
size_t direct_backward_workspace(const ConvShape& shape);

// dtaps[h][j] = the sum of partial[s][j][g] over all slices s and the groups g of head h, in a
// fixed order. Groups are heads or parts of them.
void sum_tap_partials(const ConvShape& shape, const float* partial, int64_t slices, int64_t groups,
                      float* dtaps, cudaStream_t stream);

}  // namespace convseq::kernels
