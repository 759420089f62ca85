#pragma once

#include <torch/types.h>

#include "ops/lengths.h"

namespace convseq::ops {

struct AttentionOptions {
  bool causal = false;
  double dropout = 0;
};

// softmax(Q Kᵀ + bias) V without T5's missing 1/sqrt(d): q [B,H,Tq,dk], k and v [B,H,Tk,dk], bias
// [1,H,Tq,Tk] or undefined, keys beyond `key_lengths` ignored. With `causal` the queries are the
// last Tq of the Tk positions. Runs on libtorch's fused kernels where they take the shape.
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

// Rows of a small table [buckets, heads]: [queries, keys, heads]. The gradient of a row is a sum
// over many places, on a GPU made by a product instead of a sort.
torch::Tensor gather_buckets(const torch::Tensor& table, const torch::Tensor& buckets);

}  // namespace convseq::ops
