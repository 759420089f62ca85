#pragma once

#include <torch/types.h>

namespace convseq::ops {

struct CrossEntropyOptions {
  double scale = 1;  // the logits are multiplied by it first
  double smoothing = 0;
  double z_loss = 0;
  int64_t ignored = -100;                               // the label of rows that do not count
  torch::Tensor weights = {};                           // [N] of `loss`; undefined: all 1
  std::optional<torch::Dtype> gradient = std::nullopt;  // computed in this type, or not at all
};

// Sums over the rows that count.
struct CrossEntropy {
  torch::Tensor loss;      // float64, as are nll and z_loss
  torch::Tensor nll;       // −log p(target)
  torch::Tensor z_loss;    // the part of it in `loss`
  torch::Tensor correct;   // int64: rows whose target is the most likely class
  torch::Tensor gradient;  // d loss / d (scale · logits), [N,V]; undefined where not asked for
};

// The cross-entropy of logits [N,V] and labels [N] int64, by the formulas in
// ops/reference/cross_entropy.h. `logits` may be overwritten. Not differentiable by autograd: the
// caller applies `gradient`.
CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options);

}  // namespace convseq::ops
