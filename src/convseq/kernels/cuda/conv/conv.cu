#include <algorithm>

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"

namespace convseq::kernels {

void conv_forward_cuda(const ConvShape& shape, const ConvForward& arrays, Stream stream) {
  check_conv_cuda(shape, "conv_forward");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (!band_forward(shape, arrays, cuda_stream) && !march_forward(shape, arrays, cuda_stream) &&
      !toeplitz_forward(shape, arrays, cuda_stream) && !tile_forward(shape, arrays, cuda_stream)) {
    direct_forward(shape, arrays, cuda_stream);
  }
  check_launch("conv_forward");
}

void conv_backward_cuda(const ConvShape& shape, const ConvBackward& arrays, Stream stream) {
  check_conv_cuda(shape, "conv_backward");
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (is_empty(shape)) {
    const size_t bytes = static_cast<size_t>(shape.heads * shape.kernel) * sizeof(float);
    check_cuda(cudaMemsetAsync(arrays.dtaps, 0, bytes, cuda_stream), "conv_backward");
    return;
  }
  if (!band_backward(shape, arrays, cuda_stream) && !march_backward(shape, arrays, cuda_stream) &&
      !toeplitz_backward(shape, arrays, cuda_stream) &&
      !tile_backward(shape, arrays, cuda_stream)) {
    direct_backward(shape, arrays, cuda_stream);
  }
  check_launch("conv_backward");
}

// Enough for every algorithm: which one runs also depends on the alignment of the arrays.
size_t conv_backward_workspace_cuda(const ConvShape& shape) {
  check_conv_cuda(shape, "conv_backward");
  if (is_empty(shape)) return 0;
  return std::max({band_backward_workspace(shape), march_backward_workspace(shape),
                   toeplitz_backward_workspace(shape), tile_backward_workspace(shape),
                   direct_backward_workspace(shape)});
}

}  // namespace convseq::kernels
