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

// The keys and values of decoded positions, in buffers whose addresses never change.
struct AttentionCache {
  torch::Tensor keys;    // [B,H,capacity,d]
  torch::Tensor values;  // [B,H,capacity,d]
};

// Attention of one more position per row: q, k and v [B,H,1,d], at `positions` [B] (int64, on their
// device). k and v are stored in the cache, and the query attends to all keys up to its own. The
// bias is by distance, or undefined.
torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& bias, const torch::Tensor& positions,
                             AttentionCache& cache);

inline bool is_by_distance(const torch::Tensor& bias) { return bias.dim() == 2; }

}  // namespace convseq::ops
