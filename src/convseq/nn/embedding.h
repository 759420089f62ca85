#pragma once

#include "convseq/nn/linear.h"
#include "convseq/ops/embedding.h"

namespace convseq::nn {

// An embedding table, W [rows, channels].
class Embedding : public torch::nn::Module {
 public:
  Embedding(int64_t rows, int64_t channels) {
    weight = register_parameter("weight", empty_parameter({rows, channels}));
  }

  torch::Tensor forward(const torch::Tensor& ids) const { return ops::embedding(weight, ids); }

  torch::Tensor weight;
};

}  // namespace convseq::nn
