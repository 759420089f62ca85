#pragma once

#include <cuda_runtime_api.h>

#include "convseq/kernels/conv.h"

// The algorithms of static convolutions, fastest first. Those that return false have done nothing,
// because they do not support the shape or the alignment.
namespace convseq::kernels {

// On the tensor cores where the channels of a strip share their taps: bf16, heads of whole strips
// of 64 channels, short kernels.
bool band_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream);
bool band_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream);
size_t band_backward_workspace(const ConvShape& shape);

// By multiply-adds of a window in registers: bf16, any heads, the shortest kernels.
bool march_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream);
bool march_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream);
size_t march_backward_workspace(const ConvShape& shape);

// On the tensor cores where the channels do not share their taps: bf16, any heads, short kernels.
bool toeplitz_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream);
bool toeplitz_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream);
size_t toeplitz_backward_workspace(const ConvShape& shape);

// From tiles in shared memory: any heads, both types.
bool tile_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream);
bool tile_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream);
size_t tile_backward_workspace(const ConvShape& shape);

// One output per thread, from global memory: odd channel counts, taps with a long reach.
void direct_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream);
void direct_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream);
size_t direct_backward_workspace(const ConvShape& shape);

// dtaps[h][j] = the sum of partial[s][j][g] over all slices s and the groups g of head h, in a
// fixed order. Groups are heads or parts of them.
void sum_tap_partials(const ConvShape& shape, const float* partial, int64_t slices, int64_t groups,
                      float* dtaps, cudaStream_t stream);

}  // namespace convseq::kernels
