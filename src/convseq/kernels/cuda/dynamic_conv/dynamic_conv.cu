#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_band.cuh"
#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_direct.cuh"

namespace convseq::kernels {

void dynamic_conv_forward_cuda(const ConvShape& shape, const DynamicConvForward& arrays,
                               Stream stream) {
  check_conv_cuda(shape, "dynamic_conv_forward");
  check_dynamic_taps_cuda(shape, arrays.taps, "dynamic_conv_forward");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (!band_dynamic_forward(shape, arrays, cuda_stream)) {
    direct_dynamic_forward(shape, arrays, cuda_stream);
  }
  check_launch("dynamic_conv_forward");
}

void dynamic_conv_backward_cuda(const ConvShape& shape, const DynamicConvBackward& arrays,
                                Stream stream) {
  check_conv_cuda(shape, "dynamic_conv_backward");
  check_dynamic_taps_cuda(shape, arrays.taps, "dynamic_conv_backward");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  if (!band_dynamic_backward(shape, arrays, cuda_stream)) {
    direct_dynamic_backward(shape, arrays, cuda_stream);
  }
  check_launch("dynamic_conv_backward");
}

}  // namespace convseq::kernels
