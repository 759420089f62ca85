#pragma once

#include "convseq/nn/linear.h"
#include "convseq/spec/layer_kinds.h"

namespace convseq::nn {

struct FeedForwardOptions {
  FeedForwardKind kind = FeedForwardKind::Relu;
  int64_t channels = 0;
  int64_t inner = 0;
  double dropout = 0;
};

// relu: relu(X W_up) W_down.   gated_gelu (T5 1.1): (gelu(X W_gate) ⊙ X W_up) W_down.
class FeedForward : public torch::nn::Module {
 public:
  explicit FeedForward(const FeedForwardOptions& options);
  torch::Tensor forward(const Stream& x) const;
  torch::Tensor forward(const Stream& x, const BranchSum& sum) const;  // inference only
  void initialise(torch::Generator& random);

 private:
  torch::Tensor hidden(const Stream& x) const;  // before W_down

  FeedForwardOptions options_;
  std::shared_ptr<Linear> up_, gate_, down_;
};

}  // namespace convseq::nn
