#include "convseq/ops/norm.h"

#include "convseq/ops/kernel/norm.h"
#include "convseq/ops/reference/norm.h"

namespace convseq::ops {

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps) {
  if (has_norm_kernel(x, weight)) return kernel::layer_norm(x, weight, bias, eps);
  return reference::layer_norm(x, weight, bias, eps);
}

torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
  if (has_norm_kernel(x, weight)) return kernel::add_layer_norm(residual, x, weight, bias, eps);
  return residual + reference::layer_norm(x, weight, bias, eps);
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  return rms_norm_and_input(x, weight, eps).output;
}

OutputAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  if (has_norm_kernel(x, weight)) return kernel::rms_norm_and_input(x, weight, eps);
  return {reference::rms_norm(x, weight, eps), x};
}

}  // namespace convseq::ops
