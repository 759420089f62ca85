#pragma once

#include <torch/types.h>

#include "convseq/ops/lengths.h"

namespace convseq::ops {

struct AttentionOptions {
  bool causal = false;
  double dropout = 0;
};

// softmax(Q Kᵀ + bias) V without T5's missing 1/sqrt(d): q [B,H,Tq,dk], k and v [B,H,Tk,dk], bias
// [1,H,Tq,Tk], or [H, 2 max_distance + 1] by key − query and the same from ±max_distance on, or
// undefined; keys beyond `key_lengths` ignored. With `causal` or a bias by distance the queries are
// the last Tq of the Tk positions. On a GPU by our own kernel where it takes the shape, else by
// libtorch's fused ones.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options);

struct BucketOptions {
  int64_t buckets = 32;
  int64_t max_distance = 128;
  bool bidirectional = true;
};

// T5's relative position buckets, [queries, keys] int64, for queries that are the last of `keys`
// positions: half of the buckets one position each, the rest logarithmically up to max_distance.
torch::Tensor relative_buckets(int64_t queries, int64_t keys, const BucketOptions& options,
                               torch::Device device);

// The buckets of the distances −max_distance … max_distance, from where on they are the same.
torch::Tensor distance_buckets(const BucketOptions& options, torch::Device device);

inline bool is_by_distance(const torch::Tensor& bias) { return bias.dim() == 2; }

// Rows of a small table [buckets, heads]: […, heads]. The gradient of a row is a sum
// over many places, on a GPU made by a product instead of a sort.
torch::Tensor gather_buckets(const torch::Tensor& table, const torch::Tensor& buckets);

}  // namespace convseq::ops
