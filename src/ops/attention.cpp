#include "convseq/ops/attention.h"

#include <torch/types.h>

#include <cmath>
#include <limits>

#include "convseq/ops/embedding.h"
#include "convseq/ops/kernel/attention_kernel.h"

namespace convseq::ops {
namespace {

// True where query i (the last Tq of Tk positions) may look at key j.
torch::Tensor causal_mask(int64_t queries, int64_t keys, torch::Device device) {
  return torch::ones({queries, keys}, torch::TensorOptions(torch::kBool).device(device))
      .tril(keys - queries);
}

// key − query, for queries that are the last of the keys, [queries, keys].
torch::Tensor distances(int64_t queries, int64_t keys, torch::Device device) {
  const auto integers = torch::TensorOptions(torch::kInt64).device(device);
  return torch::arange(keys, integers).unsqueeze(0) -
         torch::arange(keys - queries, keys, integers).unsqueeze(1);
}

// A bias by distance for every pair, [1,H,queries,keys].
torch::Tensor spread(const torch::Tensor& bias, int64_t queries, int64_t keys) {
  const int64_t max_distance = bias.size(1) / 2;
  const auto places =
      distances(queries, keys, bias.device()).clamp(-max_distance, max_distance) + max_distance;
  return bias.index_select(1, places.flatten()).view({1, bias.size(0), queries, keys});
}

torch::Tensor buckets_of(torch::Tensor distance, const BucketOptions& options) {
  auto bucket = torch::zeros_like(distance);
  int64_t buckets = options.buckets;
  if (options.bidirectional) {
    buckets /= 2;
    bucket = (distance > 0).to(torch::kInt64) * buckets;
    distance = distance.abs();
  } else {
    distance = (-distance).clamp_min(0);  // negative: the key stands to the left
  }
  const int64_t exact = buckets / 2;
  const double range =
      std::log(static_cast<double>(options.max_distance) / static_cast<double>(exact));
  const auto ratio = distance.clamp_min(1).to(torch::kFloat32) / static_cast<float>(exact);
  const auto logarithmic =
      exact + (ratio.log() / range * static_cast<double>(buckets - exact)).to(torch::kInt64);
  return bucket + torch::where(distance < exact, distance, logarithmic.clamp_max(buckets - 1));
}

}  // namespace

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& given, const Lengths& key_lengths,
                        const AttentionOptions& options) {
  if (attention_kernel_takes(q, k, given, key_lengths, options)) {
    return attention_by_kernel(q, k, v, given, key_lengths, options.causal);
  }
  const int64_t queries = q.size(2), keys = k.size(2);
  const auto bias = given.defined() && is_by_distance(given)
                        ? spread(given, queries, keys).to(q.scalar_type())
                        : given;
  // Without a bias and from the first position on, the fused kernels know causality themselves.
  const bool native_causal =
      options.causal && !bias.defined() && key_lengths.all_full() && queries == keys;
  torch::Tensor visible;  // bool, broadcasts to [B,H,Tq,Tk]
  if (options.causal && !native_causal && queries > 1) {
    visible = causal_mask(queries, keys, q.device());
  }
  if (!key_lengths.all_full()) {
    const auto real = key_lengths.mask(keys).unsqueeze(1).unsqueeze(1);
    visible = visible.defined() ? visible & real : real;
  }
  std::optional<torch::Tensor> mask;
  if (bias.defined()) {
    mask = visible.defined() ? bias.masked_fill(~visible, -std::numeric_limits<double>::infinity())
                             : bias;
  } else if (visible.defined()) {
    mask = visible;
  }
  if (queries == 1 && q.is_cuda()) {  // cuDNN would make a plan for every number of keys
    if (mask && mask->scalar_type() == torch::kBool) {  // which would be added as it is
      mask = torch::zeros(mask->sizes(), q.options())
                 .masked_fill(~*mask, -std::numeric_limits<double>::infinity());
    }
    return std::get<0>(at::_scaled_dot_product_attention_math(
        q, k, v, mask, options.dropout, /*is_causal=*/false, /*dropout_mask=*/{}, /*scale=*/1.0));
  }
  return at::scaled_dot_product_attention(q, k, v, mask, options.dropout, native_causal,
                                          /*scale=*/1.0);
}

torch::Tensor relative_buckets(int64_t queries, int64_t keys, const BucketOptions& options,
                               torch::Device device) {
  return buckets_of(distances(queries, keys, device), options);
}

torch::Tensor distance_buckets(const BucketOptions& options, torch::Device device) {
  const int64_t max_distance = options.max_distance;
  return buckets_of(torch::arange(-max_distance, max_distance + 1,
                                  torch::TensorOptions(torch::kInt64).device(device)),
                    options);
}

torch::Tensor gather_buckets(const torch::Tensor& table, const torch::Tensor& buckets) {
  if (!table.is_cuda()) return ops::embedding(table, buckets);
  const auto rows = torch::arange(table.size(0), buckets.options());
  const auto chosen = (buckets.unsqueeze(-1) == rows).to(table.scalar_type());
  return chosen.matmul(table);  // one 1 in each row: exact
}

}  // namespace convseq::ops
