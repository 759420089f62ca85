#pragma once

#include <torch/types.h>

#include "convseq/kernels/conv.h"
#include "convseq/kernels/device.h"
#ifdef CONVSEQ_TORCH_CUDA
#include <c10/cuda/CUDAStream.h>
#endif

// How tensors are passed to the kernels: stream, type, pointers.
namespace convseq::ops {

inline kernels::Stream current_cuda_stream() {
#ifdef CONVSEQ_TORCH_CUDA
  return c10::cuda::getCurrentCUDAStream().stream();
#else
  return nullptr;
#endif
}

inline bool is_fp32_or_bf16(const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat32 || x.scalar_type() == torch::kBFloat16;
}

inline bool is_fp32_or_bf16_on_cuda(const torch::Tensor& x) {
  return x.is_cuda() && kernels::built_with_cuda() && is_fp32_or_bf16(x);
}

inline kernels::Type kernel_type(const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat32 ? kernels::Type::Fp32 : kernels::Type::Bf16;
}

template <class T = void>
const T* pointer_or_null(const torch::Tensor& x) {
  return x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr;
}

template <class T = void>
T* output_or_null(const torch::Tensor& x) {
  return x.defined() ? static_cast<T*>(x.mutable_data_ptr()) : nullptr;
}

}  // namespace convseq::ops
