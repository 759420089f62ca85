#include "convseq/train/optim/clip.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/ops/reference/tensor_norms.h"

namespace convseq {

double clip_by_global_norm(torch::TensorList parameters, double max_norm) {
  require(max_norm > 0, "clip_by_global_norm: max_norm is {}; must be > 0", max_norm);
  std::vector<torch::Tensor> gradients;
  for (const auto& parameter : parameters) {
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  }
  if (gradients.empty()) return 0;
  const torch::NoGradGuard no_grad;
  const double norm = ops::norms(gradients).norm().item<double>();
  if (std::isfinite(norm) && norm > max_norm) at::_foreach_mul_(gradients, max_norm / norm);
  return norm;
}

}  // namespace convseq
