#pragma once

#include <torch/types.h>

#include "convseq/ops/lengths.h"

namespace convseq::ops {

struct AttentionOptions {
  bool causal = false;
  double dropout = 0;
};

// softmax(Q Kᵀ + bias) V, as in T5 without the factor 1/sqrt(d): q [B,H,Tq,d], k and v [B,H,Tk,d].
// The bias is [1,H,Tq,Tk], or by distance [H, 2 max_distance + 1] (indexed by key − query, clamped
// to ±max_distance), or undefined. Keys beyond `key_lengths` are ignored. With `causal` or a bias
// by distance the queries are the last Tq of the Tk positions.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options);

// Keys and values of a source or of decoded positions, in buffers whose addresses never change: in
// the type of the queries, or int8 with one scale per token and head (value = scale · int8).
struct AttentionCache {
  torch::Tensor keys;         // [B,H,capacity,d]
  torch::Tensor values;       // [B,H,capacity,d]
  torch::Tensor scales = {};  // of int8 keys and values: [B,H,capacity,2] fp32; otherwise undefined

  bool is_int8() const { return scales.defined(); }
  int64_t bytes() const;
};

// The int8 cache of keys and values [B,H,T,d] with scale = max |value| / 127; and an empty one.
AttentionCache quantize_cache(const torch::Tensor& keys, const torch::Tensor& values);
AttentionCache empty_int8_cache(at::IntArrayRef sizes, torch::Device device);

// Attention of one query per row, [B,H,1,d], to the keys of a cache up to `key_lengths`, without a
// bias or gradients. The cache and the lengths were not written by the kernel launched last.
torch::Tensor attention_to_cache(const torch::Tensor& q, const AttentionCache& cache,
                                 const Lengths& key_lengths);

// Attention of one more position per row: q, k and v [B,H,1,d], at `positions` [B] (int64, on their
// device). k and v are stored in the cache, and the query attends to all keys up to its own. The
// bias is by distance, or undefined. An int8 cache and the positions were not written by the kernel
// launched last.
torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& bias, const torch::Tensor& positions,
                             AttentionCache& cache);

inline bool is_by_distance(const torch::Tensor& bias) { return bias.dim() == 2; }

}  // namespace convseq::ops
