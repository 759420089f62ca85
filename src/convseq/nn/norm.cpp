#include "convseq/nn/norm.h"

#include "convseq/nn/parameter.h"

namespace convseq::nn {

Norm::Norm(const NormOptions& options) : options_(options) {
  weight_ = register_parameter("weight", empty_parameter({options.channels}));
  if (options.style == NormStyle::BranchLayerNorm) {
    bias_ = register_parameter("bias", empty_parameter({options.channels}));
  }
}

torch::Tensor Norm::forward(const torch::Tensor& x) const {
  return options_.style == NormStyle::BranchLayerNorm
             ? ops::layer_norm(x, weight_, bias_, options_.eps)
             : ops::rms_norm(x, weight_, options_.eps);
}

torch::Tensor Norm::add_normed(const torch::Tensor& x, const torch::Tensor& branch) const {
  return ops::add_layer_norm(x, branch, weight_, bias_, options_.eps);
}

void Norm::initialise() {
  const torch::NoGradGuard no_grad;
  weight_.fill_(1);
  if (bias_.defined()) bias_.zero_();
}

}  // namespace convseq::nn
