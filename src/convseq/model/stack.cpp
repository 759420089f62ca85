#include "convseq/model/stack.h"

#include <cmath>

namespace convseq {

Stack::Stack(const ModelConfig& config, Side side)
    : config_(config), residual_(residual_options(config)) {
  if (config.positions == Positions::Learned) {
    positions_ = register_module(
        "positions", std::make_shared<nn::Embedding>(config.max_positions, config.d_model));
  }
  if (config.positions == Positions::Relative && config.has_self_attention(side)) {
    const ops::BucketOptions buckets{.buckets = config.relative_buckets,
                                     .max_distance = config.relative_max_distance,
                                     .bidirectional = side == Side::Encoder};
    relative_bias_ = register_module(
        "relative_bias", std::make_shared<nn::RelativeBias>(buckets, attention_options(config)));
  }
  norm_ = register_module("norm", std::make_shared<nn::Norm>(norm_options(config)));
}

void Stack::check_positions(int64_t end) const {
  require(!positions_ || end <= config_.max_positions,
          "sequence of {} tokens is longer than max_positions {}", end, config_.max_positions);
}

torch::Tensor Stack::enter(const torch::Tensor& embedded, int64_t first) const {
  auto x = embedded;
  if (positions_) {
    const int64_t end = first + x.size(1);
    check_positions(end);
    x = x + positions_->weight.slice(0, first, end);
  }
  return at::dropout(x, config_.dropout, is_training());
}

torch::Tensor Stack::enter(const torch::Tensor& embedded, const torch::Tensor& positions) const {
  if (!positions_) return embedded;
  // Clamped, because a captured step may be replayed once more than the capacity allows.
  const auto rows = positions.clamp_max(config_.max_positions - 1);
  return embedded + positions_->weight.index_select(0, rows).unsqueeze(1);
}

torch::Tensor Stack::leave(const torch::Tensor& x) const {
  return at::dropout(norm_->forward(x), config_.dropout, is_training());
}

torch::Tensor Stack::position_bias(int64_t queries, int64_t keys) const {
  return relative_bias_ ? relative_bias_->forward(queries, keys) : torch::Tensor();
}

torch::Tensor Stack::bias_by_distance() const {
  return relative_bias_ ? relative_bias_->by_distance() : torch::Tensor();
}

torch::Tensor Stack::run(std::function<torch::Tensor(const nn::Inputs&)> block,
                         const nn::Inputs& inputs) const {
  return recomputes_ ? nn::recompute(std::move(block), inputs) : block(inputs);
}

void Stack::initialise_stack(torch::Generator& random) {
  const double deviation = 1 / std::sqrt(static_cast<double>(config_.d_model));
  if (positions_) nn::draw_normal(positions_->weight, deviation, random);
  if (relative_bias_) relative_bias_->initialise(deviation, random);
  norm_->initialise();
}

}  // namespace convseq
