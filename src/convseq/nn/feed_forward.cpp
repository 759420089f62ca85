#include "convseq/nn/feed_forward.h"

#include <cmath>

namespace convseq::nn {

FeedForward::FeedForward(const FeedForwardOptions& options) : options_(options) {
  up_ = register_module("up", std::make_shared<Linear>(options.channels, options.inner));
  if (options.kind == FeedForwardKind::GatedGelu) {
    gate_ = register_module("gate", std::make_shared<Linear>(options.channels, options.inner));
  }
  down_ = register_module("down", std::make_shared<Linear>(options.inner, options.channels));
}

torch::Tensor FeedForward::forward(const Stream& x) const {
  const bool drops = is_training() && options_.dropout > 0;
  if (!gate_ && !drops) {
    return x.through([&](const auto& values) {
      return ops::relu_feed_forward_and_input(values, up_->weight, down_->weight);
    });
  }
  return down_->forward(at::dropout(hidden(x), options_.dropout, is_training()));
}

torch::Tensor FeedForward::forward(const Stream& x, const BranchSum& sum) const {
  if (!sum.residual.defined()) return forward(x);
  if (gate_) return down_->forward(hidden(x), sum);
  return sum.norm.weight.defined()
             ? ops::add_normed_relu_feed_forward(sum.residual, x, up_->weight, down_->weight,
                                                 sum.norm)
             : ops::add_relu_feed_forward(sum.residual, x, up_->weight, down_->weight);
}

torch::Tensor FeedForward::hidden(const Stream& x) const {
  return gate_ ? at::gelu(gate_->forward(x), "tanh") * up_->forward(x) : at::relu(up_->forward(x));
}

void FeedForward::initialise(torch::Generator& random) {
  const double inward = 1 / std::sqrt(static_cast<double>(options_.channels));
  draw_normal(up_->weight, inward, random);
  if (gate_) draw_normal(gate_->weight, inward, random);
  draw_normal(down_->weight, 1 / std::sqrt(static_cast<double>(options_.inner)), random);
}

}  // namespace convseq::nn
