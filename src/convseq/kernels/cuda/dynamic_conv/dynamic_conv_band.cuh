#pragma once

#include "convseq/kernels/cuda/conv/conv_band.cuh"

// Dynamic convolutions of bf16 activations whose heads are one strip (64 channels) wide, on the
// tensor cores. Blocks advance along time as those of conv_band.cuh do.
namespace convseq::kernels {

// False, and nothing done, where they do not support the shape or the alignment.
bool band_dynamic_forward(const ConvShape& shape, const DynamicConvForward& arrays,
                          cudaStream_t stream);
bool band_dynamic_backward(const ConvShape& shape, const DynamicConvBackward& arrays,
                           cudaStream_t stream);

constexpr int kDynamicPrefetch = 1;  // steps whose rows are prefetched

__host__ __device__ constexpr int band_blocks(int kernel) {
  return kernel <= kBandTile + 1 ? 2 : 3;
}

inline bool fits_dynamic_band(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels == shape.heads * kBandStrip &&
         shape.dilation == 1;
}

// Calls use(constant<k>) for kernel sizes with specialised code; returns false for others.
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
