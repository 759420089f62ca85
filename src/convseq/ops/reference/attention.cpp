#include "convseq/ops/reference/attention.h"

#include <torch/types.h>

#include <limits>

#include "convseq/ops/reference/position_buckets.h"

namespace convseq::ops::reference {
namespace {

// True where query i (the last Tq of Tk positions) may look at key j.
torch::Tensor causal_mask(int64_t queries, int64_t keys, torch::Device device) {
  return torch::ones({queries, keys}, torch::TensorOptions(torch::kBool).device(device))
      .tril(keys - queries);
}

// A bias by distance [H, 2 max_distance + 1], expanded to [1,H,queries,keys].
torch::Tensor expand_bias(const torch::Tensor& bias, int64_t queries, int64_t keys) {
  const int64_t max_distance = bias.size(1) / 2;
  const auto index =
      key_minus_query(queries, keys, bias.device()).clamp(-max_distance, max_distance) +
      max_distance;
  return bias.index_select(1, index.flatten()).view({1, bias.size(0), queries, keys});
}

// Int8 rows and their scales [B,H,T,1]: x ≈ scale · int8.
struct Int8Rows {
  torch::Tensor rows, scales;
};

Int8Rows quantize(const torch::Tensor& x) {
  constexpr double kMost = 127;
  const auto values = x.to(torch::kFloat32);
  const auto scales = values.abs().amax(-1, /*keepdim=*/true) / kMost;
  const auto divisors = scales.masked_fill(scales == 0, 1);
  return {(values / divisors).round().clamp(-kMost, kMost).to(torch::kInt8).contiguous(), scales};
}

torch::Tensor dequantize(const torch::Tensor& rows, const torch::Tensor& scales,
                         torch::Dtype type) {
  return (rows.to(torch::kFloat32) * scales.unsqueeze(-1)).to(type);
}

// The values that an int8 cache stands for, in the type of the queries.
AttentionCache dequantize(const AttentionCache& cache, torch::Dtype type) {
  return {.keys = dequantize(cache.keys, cache.scales.select(-1, 0), type),
          .values = dequantize(cache.values, cache.scales.select(-1, 1), type)};
}

// On Arm CPUs libtorch's fused attention multiplies bf16 matrices by oneDNN's reference loops.
bool is_slow([[maybe_unused]] const torch::Tensor& q) {
#ifdef __aarch64__
  return q.is_cpu() && at::isReducedFloatingType(q.scalar_type());
#else
  return false;
#endif
}

}  // namespace

AttentionCache quantize_cache(const torch::Tensor& keys, const torch::Tensor& values) {
  const Int8Rows k = quantize(keys), v = quantize(values);
  return {.keys = k.rows, .values = v.rows, .scales = torch::cat({k.scales, v.scales}, -1)};
}

torch::Tensor attention_to_cache(const torch::Tensor& q, const AttentionCache& cache,
                                 const Lengths& key_lengths) {
  const auto [keys, values, scales] = dequantize(cache, q.scalar_type());
  return reference::attention(q, keys, values, {}, key_lengths, {});
}

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& given, const Lengths& key_lengths,
                        const AttentionOptions& options) {
  if (is_slow(q)) {
    const auto wide = [](const torch::Tensor& x) {
      return x.defined() ? x.to(torch::kFloat32) : x;
    };
    return reference::attention(wide(q), wide(k), wide(v), wide(given), key_lengths, options)
        .to(q.scalar_type());
  }
  const int64_t queries = q.size(2), keys = k.size(2);
  const auto bias = given.defined() && is_by_distance(given)
                        ? expand_bias(given, queries, keys).to(q.scalar_type())
                        : given;
  // Without a bias, and with as many queries as keys, the fused kernels apply causality themselves.
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
  if (queries == 1 && q.is_cuda()) {  // cuDNN would build a plan for every number of keys
    if (mask && mask->scalar_type() == torch::kBool) {  // this function adds it as it is
      mask = torch::zeros(mask->sizes(), q.options())
                 .masked_fill(~*mask, -std::numeric_limits<double>::infinity());
    }
    return std::get<0>(at::_scaled_dot_product_attention_math(
        q, k, v, mask, options.dropout, /*is_causal=*/false, /*dropout_mask=*/{}, /*scale=*/1.0));
  }
  return at::scaled_dot_product_attention(q, k, v, mask, options.dropout, native_causal,
                                          /*scale=*/1.0);
}

torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& bias, const torch::Tensor& positions,
                             AttentionCache& cache) {
  const int64_t batch = q.size(0), capacity = cache.keys.size(2);
  const auto slot = positions.view({batch, 1, 1, 1});
  if (cache.is_int8()) {
    const AttentionCache now = quantize_cache(k, v);
    cache.keys.scatter_(2, slot.expand_as(k), now.keys);
    cache.values.scatter_(2, slot.expand_as(v), now.values);
    cache.scales.scatter_(2, slot.expand_as(now.scales), now.scales);
  } else {
    cache.keys.scatter_(2, slot.expand_as(k), k);
    cache.values.scatter_(2, slot.expand_as(v), v);
  }
  const auto [keys, values, scales] = cache.is_int8() ? dequantize(cache, q.scalar_type()) : cache;
  const auto distance =  // key − query, [B,capacity]
      torch::arange(capacity, positions.options()).unsqueeze(0) - positions.unsqueeze(1);
  auto mask = torch::zeros({batch, 1, 1, capacity}, q.options())
                  .masked_fill((distance > 0).unsqueeze(1).unsqueeze(1),
                               -std::numeric_limits<double>::infinity());
  if (bias.defined()) {
    const int64_t max_distance = bias.size(1) / 2;
    const auto index = distance.clamp(-max_distance, max_distance) + max_distance;
    mask = mask + bias.index_select(1, index.flatten())
                      .view({bias.size(0), batch, 1, capacity})
                      .transpose(0, 1)
                      .to(q.scalar_type());
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(
      q, keys, values, mask, /*dropout_p=*/0, /*is_causal=*/false, /*dropout_mask=*/{},
      /*scale=*/1.0));
}

}  // namespace convseq::ops::reference
