#pragma once

#include <torch/types.h>

// T5's relative positions, for queries that are the last of the keys' positions.
namespace convseq::ops {

struct BucketOptions {
  int64_t buckets = 32;
  int64_t max_distance = 128;
  bool bidirectional = true;
};

// key − query, [queries, keys] int64.
torch::Tensor key_minus_query(int64_t queries, int64_t keys, torch::Device device);

// The bucket of each pair, [queries, keys] int64: half of the buckets hold one distance each, the
// other half grow logarithmically up to max_distance.
torch::Tensor relative_buckets(int64_t queries, int64_t keys, const BucketOptions& options,
                               torch::Device device);

// The buckets of the distances −max_distance … max_distance, [2 max_distance + 1]; all distances
// beyond them share the outermost buckets.
torch::Tensor distance_buckets(const BucketOptions& options, torch::Device device);

// Rows of a small table [buckets, heads], […, heads]. Each row's gradient is a sum over many
// positions; on a GPU it is computed by a matmul instead of a sort.
torch::Tensor gather_buckets(const torch::Tensor& table, const torch::Tensor& buckets);

}  // namespace convseq::ops
