#pragma once

#include "convseq/kernels/types.h"

// softmax(Q Kᵀ + bias) V in one pass over keys and values, and its gradient, on tensor cores: bf16
// in and out, sums and softmax in fp32, heads of 64 channels. Every sum has a fixed order. Other
// shapes are refused with an Error, and all shapes in a build without nvcc.
namespace convseq::kernels {

inline constexpr int64_t kAttentionChannels = 64;      // per head
inline constexpr int64_t kAttentionKeys = 64;          // per part of the gradient of the bias
inline constexpr int64_t kAttentionMaxDistance = 960;  // largest AttentionShape::max_distance

struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;  // where causal or with a bias: at the last positions of the keys
  int64_t keys = 0;
  bool causal = false;
  int64_t max_distance = 0;  // of the bias by distance, which is constant beyond it; 0: no bias
};

// Rows [B,H,T,64] with any strides of the first three dimensions; the channels are contiguous and
// aligned to 16 bytes.
struct AttentionRows {
  const void* data = nullptr;
  int64_t batch = 0, head = 0, time = 0;  // strides, in values
};

struct AttentionForward {
  AttentionRows q, k, v;
  const float* bias = nullptr;       // [H, 2 max_distance + 1], by key − query, finite
  const int64_t* lengths = nullptr;  // [B], number of keys that are not padding; null: all
  AttentionRows y;                   // written; zero where no key is visible
  float* lse = nullptr;  // [B,H,Tq], written: log2 of the sum of exponentials; ∞ without keys
};

struct AttentionBackward {
  AttentionRows q, k, v;
  const float* bias = nullptr;
  const int64_t* lengths = nullptr;
  AttentionRows y, dy;
  const float* lse = nullptr;
  AttentionRows dq, dk, dv;  // written
  float* dbias = nullptr;    // [B, attention_bias_parts(), H, 2 max_distance + 1], to be summed
  float* delta = nullptr;    // [B,H,Tq], workspace
};

// One query per row, at a position of its own, against keys and values in memory: fp32 or bf16,
// heads of 32, 64 or 128 channels, sums and softmax in fp32.
struct AttentionStepShape {
  Type type = Type::Bf16;
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t channels = 0;      // per head
  int64_t keys = 0;          // of each row, room for more included
  int64_t max_distance = 0;  // as above
  bool int8_keys = false;    // k and v are int8, with scales
};

struct AttentionStep {
  AttentionRows q;              // [B,H,1,d]
  AttentionRows k, v;           // [B,H,keys,d]
  float* scales = nullptr;      // [B,H,keys,2]: of each key and of each value, where they are int8
  const float* bias = nullptr;  // [H, 2 max_distance + 1], by key − query, finite; null: none
  const int64_t* lengths = nullptr;    // [B], number of keys that are not padding; null: all
  const int64_t* positions = nullptr;  // [B], of the queries; null: all at the last key
  // [B,H,1,d], or null: the key and the value of the query's own position, which are stored in k
  // and v; `lengths` are then not used, since the keys up to that position are visible.
  AttentionRows new_k, new_v;
  AttentionRows y;  // [B,H,1,d], written; zero where no key is visible
  // The kernel launched just before writes none of k, v, scales, lengths and positions: in a
  // captured graph they are loaded before it has finished. Int8 keys only.
  bool prefetch_keys = false;
};

bool has_attention_step_channels(int64_t channels);
void attention_step_cuda(const AttentionStepShape& shape, const AttentionStep& arrays,
                         Stream stream);

// Rows as int8 with one scale per row, x ≈ scale · int8: scale = max |x| / 127, and the quotients
// are rounded to nearest, ties to even.
struct QuantizeShape {
  Type type = Type::Bf16;  // of x
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t time = 0;
  int64_t channels = 0;  // per head: 32, 64 or 128
};

struct QuantizeRows {
  AttentionRows x;              // [B,H,T,d], finite
  int8_t* quantized = nullptr;  // [B,H,T,d], contiguous
  float* scales = nullptr;      // [B,H,T], two apart
};

void quantize_rows_cuda(const QuantizeShape& shape, const QuantizeRows& arrays, Stream stream);

bool is_aligned_for_attention(const AttentionRows& rows);
inline int64_t attention_bias_parts(const AttentionShape& shape) {
  return (shape.keys + kAttentionKeys - 1) / kAttentionKeys;
}

void attention_forward_cuda(const AttentionShape& shape, const AttentionForward& arrays,
                            Stream stream);
void attention_backward_cuda(const AttentionShape& shape, const AttentionBackward& arrays,
                             Stream stream);

}  // namespace convseq::kernels
