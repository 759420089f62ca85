#pragma once

#include <torch/types.h>

namespace convseq::ops {

struct CrossEntropyOptions {
  double scale = 1;  // logits are multiplied by it first
  double smoothing = 0;
  double z_loss = 0;
  int64_t ignored = -100;                               // the label of rows that do not count
  torch::Tensor weights = {};                           // [N]; undefined: all 1
  std::optional<torch::Dtype> gradient = std::nullopt;  // wanted in this type
};

struct CrossEntropy {
  torch::Tensor rows;      // [N,4] fp32: loss, −log p(target), the z-loss in it, 1 where right
  torch::Tensor gradient;  // d loss / d (scale · logits), [N,V]; undefined: not wanted
};

// Of fp32 logits [N,V] on a GPU in one pass, as kernels/cross_entropy.h says. Not differentiable:
// the gradient is its gradient.
CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options);
bool has_cross_entropy(const torch::Tensor& logits);

}  // namespace convseq::ops
