#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include "convseq/nn/branch_sum.h"
#include "convseq/nn/parameter.h"
#include "convseq/nn/stream.h"

namespace convseq::nn {

// y = x Wᵀ, W [out,in], without bias, as in T5 and in the paper. The weight is uninitialised until
// it is drawn or loaded.
class Linear : public torch::nn::Module {
 public:
  Linear(int64_t in, int64_t out) {
    weight = register_parameter("weight", empty_parameter({out, in}));
  }

  torch::Tensor forward(const Stream& x) const {
    return x.through([&](const auto& values) { return ops::linear_and_input(values, weight); });
  }

  // The same with a sum, for inference only.
  torch::Tensor forward(const Stream& x, const BranchSum& sum) const {
    if (!sum.residual.defined()) return forward(x);
    return sum.norm.weight.defined() ? ops::add_normed_linear(sum.residual, x, weight, sum.norm)
                                     : ops::add_linear(sum.residual, x, weight);
  }

  torch::Tensor weight;
};

// Draws a parameter from N(0, deviation²).
inline void draw_normal(const torch::Tensor& parameter, double deviation,
                        torch::Generator& random) {
  const torch::NoGradGuard no_grad;
  parameter.normal_(0, deviation, random);
}

}  // namespace convseq::nn
