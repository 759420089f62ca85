#pragma once

#include <torch/types.h>

namespace convseq::ops::reference {

// The type that sums are kept in.
inline torch::Dtype accumulate_type(const torch::Tensor& x) {
  return x.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
}

// On a CPU libtorch sums bf16 gradients of parameters in bf16, which loses most of each sum. Ops
// with such parameters compute those sums in fp32 and round once.
inline bool needs_fp32_sums(const torch::Tensor& parameter) {
  return parameter.is_cpu() && at::isReducedFloatingType(parameter.scalar_type());
}

}  // namespace convseq::ops::reference
