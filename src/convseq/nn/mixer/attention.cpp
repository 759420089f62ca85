#include "convseq/nn/mixer/attention.h"

#include <cmath>

#include "convseq/ops/kernel/attention.h"

namespace convseq::nn {
namespace {

void reorder_cache(ops::AttentionCache& cache, const torch::Tensor& rows) {
  reorder_in_place(cache.keys, rows);
  reorder_in_place(cache.values, rows);
  if (cache.is_int8()) reorder_in_place(cache.scales, rows);
}

struct AttentionState : MixerState {
  torch::Tensor keys;    // [B,H,t,dk]
  torch::Tensor values;  // [B,H,t,dk]

  void reorder(const torch::Tensor& rows) override {
    keys = keys.index_select(0, rows);
    values = values.index_select(0, rows);
  }
  int64_t bytes() const override { return static_cast<int64_t>(keys.nbytes() + values.nbytes()); }
};

struct CachedAttentionState : MixerState {
  ops::AttentionCache cache;
  torch::Tensor weights;  // of queries, keys and values, [3 H*dk, d]

  void reorder(const torch::Tensor& rows) override { reorder_cache(cache, rows); }
  int64_t bytes() const override { return cache.bytes(); }
};

}  // namespace

AttentionProjections::AttentionProjections(torch::nn::Module& owner,
                                           const AttentionOptions& options)
    : options_(options) {
  const int64_t d = options.channels, inner = options.heads * options.head_channels;
  query_ = owner.register_module("query", std::make_shared<Linear>(d, inner));
  key_ = owner.register_module("key", std::make_shared<Linear>(d, inner));
  value_ = owner.register_module("value", std::make_shared<Linear>(d, inner));
  output_ = owner.register_module("output", std::make_shared<Linear>(inner, d));
}

torch::Tensor AttentionProjections::split(const torch::Tensor& x) const {
  return x.unflatten(-1, {options_.heads, options_.head_channels}).transpose(1, 2);
}

std::array<torch::Tensor, 3> AttentionProjections::all(const torch::Tensor& x,
                                                       const torch::Tensor& weights) const {
  const auto parts = ops::linear_and_input(x, weights).output.chunk(3, -1);
  return {split(parts[0]), split(parts[1]), split(parts[2])};
}

torch::Tensor AttentionProjections::one_matrix() const {
  return torch::cat({query_->weight, key_->weight, value_->weight}).detach();
}

torch::Tensor AttentionProjections::join(const torch::Tensor& heads, const BranchSum& sum) const {
  return output_->forward(heads.transpose(1, 2).flatten(2), sum);
}

void AttentionProjections::initialise(torch::Generator& random) {
  const auto d = static_cast<double>(options_.channels);
  const auto head = static_cast<double>(options_.head_channels);
  // As in T5, the query weights include the factor 1/sqrt(dk) that the scores lack.
  draw_normal(query_->weight, 1 / std::sqrt(d * head), random);
  draw_normal(key_->weight, 1 / std::sqrt(d), random);
  draw_normal(value_->weight, 1 / std::sqrt(d), random);
  draw_normal(output_->weight, 1 / std::sqrt(static_cast<double>(options_.heads) * head), random);
}

SelfAttention::SelfAttention(const MixerOptions& options)
    : projections_(*this, {.channels = options.channels,
                           .heads = options.heads,
                           .head_channels = options.head_channels,
                           .dropout = options.dropout}),
      causal_(options.causal) {}

torch::Tensor SelfAttention::forward(const Stream& x, const MixerContext& context) {
  return projections_.join(ops::attention(
      projections_.queries(x), projections_.keys(x), projections_.values(x), context.position_bias,
      context.lengths, {.causal = causal_, .dropout = dropout()}));
}

std::unique_ptr<MixerState> SelfAttention::start(int64_t batch, int64_t capacity,
                                                 KvCacheType cache) const {
  const AttentionOptions& options = projections_.options();
  const auto values = parameters().front().options().requires_grad(false);
  if (capacity > 0) {
    auto fixed = std::make_unique<CachedAttentionState>();
    const std::array sizes{batch, options.heads, capacity, options.head_channels};
    fixed->cache = cache == KvCacheType::Int8
                       ? ops::empty_int8_cache(sizes, values.device())
                       : ops::AttentionCache{.keys = torch::zeros(sizes, values),
                                             .values = torch::zeros(sizes, values)};
    fixed->weights = projections_.one_matrix();
    return fixed;
  }
  auto state = std::make_unique<AttentionState>();
  state->keys = torch::empty({batch, options.heads, 0, options.head_channels}, values);
  state->values = state->keys.clone();
  return state;
}

torch::Tensor SelfAttention::step(const torch::Tensor& x, const MixerContext& context,
                                  MixerState& state) {
  if (context.positions.defined()) {
    auto& fixed = static_cast<CachedAttentionState&>(state);
    const auto [queries, keys, values] = projections_.all(x, fixed.weights);
    return projections_.join(ops::attention_step(queries, keys, values, context.position_bias,
                                                 context.positions, fixed.cache),
                             context.sum);
  }
  auto& past = static_cast<AttentionState&>(state);
  past.keys = torch::cat({past.keys, projections_.keys(x)}, 2);
  past.values = torch::cat({past.values, projections_.values(x)}, 2);
  return projections_.join(ops::attention(projections_.queries(x), past.keys, past.values,
                                          context.position_bias, {}, {.causal = true}),
                           context.sum);
}

CrossAttention::CrossAttention(const AttentionOptions& options) : projections_(*this, options) {}

CrossAttention::Memory CrossAttention::remember(const Stream& encoded,
                                                const Lengths& lengths) const {
  return {.cache = {.keys = projections_.keys(encoded), .values = projections_.values(encoded)},
          .lengths = lengths};
}

torch::Tensor CrossAttention::forward(const Stream& x, const Memory& memory,
                                      const BranchSum& sum) const {
  const double dropout = is_training() ? projections_.options().dropout : 0;
  const auto queries = projections_.queries(x);
  const ops::AttentionCache& cache = memory.cache;
  return projections_.join(cache.is_int8() ? ops::attention_to_cache(queries, cache, memory.lengths)
                                           : ops::attention(queries, cache.keys, cache.values, {},
                                                            memory.lengths, {.dropout = dropout}),
                           sum);
}

void CrossAttention::Memory::reorder(const torch::Tensor& rows) {
  cache.keys = cache.keys.index_select(0, rows);
  cache.values = cache.values.index_select(0, rows);
  if (!lengths.all_full()) lengths.values = lengths.values.index_select(0, rows);
}

void CrossAttention::Memory::reorder_in_place(const torch::Tensor& rows) {
  reorder_cache(cache, rows);
  if (!lengths.all_full()) nn::reorder_in_place(lengths.values, rows);
}

RelativeBias::RelativeBias(const ops::BucketOptions& buckets, const AttentionOptions& attention)
    : buckets_(buckets), attention_(attention) {
  weight_ = register_parameter("weight", empty_parameter({buckets.buckets, attention.heads}));
}

torch::Tensor RelativeBias::by_distance() const {
  const auto buckets = ops::distance_buckets(buckets_, weight_.device());
  const auto bias = ops::gather_buckets(weight_, buckets).t();
  return (bias.scalar_type() == torch::kFloat64 ? bias : bias.to(torch::kFloat32)).contiguous();
}

torch::Tensor RelativeBias::forward(int64_t queries, int64_t keys) const {
  const double dropout = is_training() ? attention_.dropout : 0;
  if (ops::has_attention_kernel(weight_.options(), attention_.head_channels, dropout,
                                buckets_.max_distance)) {
    return by_distance();
  }
  const auto buckets = ops::relative_buckets(queries, keys, buckets_, weight_.device());
  // The fused attention kernels require a bias that is contiguous along the keys.
  return ops::gather_buckets(weight_, buckets).permute({2, 0, 1}).contiguous().unsqueeze(0);
}

}  // namespace convseq::nn
