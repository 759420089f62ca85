#pragma once

#include "convseq/kernels/row_ops.h"

// softmax(Q Kᵀ + bias) V of one sequence on a CPU, for inference, in fp32: self-attention of an
// encoder, a decoding step over a cache, attention to the source. The scores are not scaled, as in
// T5. A query's result depends neither on the other queries nor on how many there are, to the last
// bit.
namespace convseq::kernels {

struct AttentionBias {          // by distance, constant beyond max_distance
  const float* data = nullptr;  // [heads, 2 max_distance + 1], by key − query; null: none
  int64_t max_distance = 0;
};

struct SequenceAttention {
  int64_t heads = 0;
  int64_t channels = 0;  // per head
  int64_t queries = 0;
  int64_t keys = 0;  // those that are not padding
  // The position of query 0, key 0 being at 0: for the bias and for causal attention.
  int64_t first_position = 0;
  bool causal = false;       // a query sees the keys up to its own position
  FloatRows q = {};          // [queries, heads · channels]
  FloatRows k = {}, v = {};  // [keys, heads · channels]
  AttentionBias bias = {};
  float* out = nullptr;  // [queries, heads · channels]; zero where no key is visible
  int64_t out_stride = 0;
  CpuLevel level = default_cpu_level();
};

// Heads [heads.begin, heads.end) of queries [queries.begin, queries.end).
void attention_rows(const SequenceAttention& attention, RowRange heads, RowRange queries);

}  // namespace convseq::kernels
