#pragma once

#include "convseq/kernels/cuda/conv/conv_band.cuh"

// Dynamic convolutions of bf16 activations whose heads are one strip (64 channels) wide, on the
// tensor cores. Blocks march as those of the static taps do.
namespace convseq::kernels {

// False where nothing was done: the shape or the alignment is not theirs.
bool band_dynamic_forward(const ConvShape& shape, const DynamicConvForward& arrays,
                          cudaStream_t stream);
bool band_dynamic_backward(const ConvShape& shape, const DynamicConvBackward& arrays,
                           cudaStream_t stream);

constexpr int kDynamicAhead = 1;  // steps whose rows are on their way

__host__ __device__ constexpr int band_blocks(int kernel) {
  return kernel <= kBandTile + 1 ? 2 : 3;
}

inline bool fits_dynamic_band(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels == shape.heads * kBandStrip &&
         shape.dilation == 1;
}

// Calls use(constant<k>) for a kernel size that has its own code; false for others.
template <class Use>
bool with_dynamic_kernel_size(int64_t kernel, Use use) {
  switch (kernel) {
    case 3:
      return use(std::integral_constant<int, 3>{}), true;
    case 5:
      return use(std::integral_constant<int, 5>{}), true;
    case 7:
      return use(std::integral_constant<int, 7>{}), true;
    case 9:
      return use(std::integral_constant<int, 9>{}), true;
    case 15:
      return use(std::integral_constant<int, 15>{}), true;
    case 31:
      return use(std::integral_constant<int, 31>{}), true;
    default:
      return false;
  }
}

}  // namespace convseq::kernels
