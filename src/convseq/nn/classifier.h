#pragma once

#include "convseq/nn/linear.h"

namespace convseq::nn {

// The classification head on the mean encoder output: y = x Wᵀ + b, W [classes,channels].
class Classifier : public torch::nn::Module {
 public:
  Classifier(int64_t channels, int64_t classes) {
    weight = register_parameter("weight", empty_parameter({classes, channels}));
    bias = register_parameter("bias", empty_parameter({classes}));
  }

  torch::Tensor forward(const torch::Tensor& x) const { return at::linear(x, weight, bias); }

  void initialise(double deviation, torch::Generator& random) {
    draw_normal(weight, deviation, random);
    const torch::NoGradGuard no_grad;
    bias.zero_();
  }

  torch::Tensor weight, bias;
};

}  // namespace convseq::nn
