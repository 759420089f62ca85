#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

#include "convseq/nn/parameter.h"
#include "convseq/nn/stream.h"
#include "convseq/ops/linear.h"

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

  // residual + x Wᵀ, for inference only. An undefined residual is not added.
  torch::Tensor forward(const Stream& x, const torch::Tensor& residual) const {
    return residual.defined() ? ops::add_linear(residual, x, weight) : forward(x);
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
