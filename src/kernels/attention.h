#pragma once

#include "convseq/kernels/types.h"

// softmax(Q Kᵀ + bias) V in one pass over keys and values, and its gradient, on tensor cores: bf16
// in and out, sums and softmax in fp32, heads of 64 channels. Every sum has a fixed order. What is
// not so shaped is refused; all of it where the build has no nvcc.
namespace convseq::kernels {

inline constexpr int64_t kAttentionChannels = 64;  // of a head
inline constexpr int64_t kAttentionKeys = 64;      // of a part of the bias's gradient
inline constexpr int64_t kAttentionMaxDistance =
    960;  // the most that AttentionShape::max_distance may be

struct AttentionShape {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t queries = 0;  // where causal or with a bias, the last of the keys' positions
  int64_t keys = 0;
  bool causal = false;
  int64_t max_distance = 0;  // a bias by distance, the same from here on either way; 0: no bias
};

// Rows [B,H,T,64] in any order of the first three; a row's channels are neighbours, and begin at
// multiples of 16 bytes.
struct AttentionRows {
  const void* data = nullptr;
  int64_t batch = 0, head = 0, time = 0;  // steps, in values
};

struct AttentionForward {
  AttentionRows q, k, v;
  const float* bias = nullptr;       // [H, 2 max_distance + 1], by key − query, finite
  const int64_t* lengths = nullptr;  // [B], of the keys; null: all are real
  AttentionRows y;                   // written; zero where there is no key
  float* lse = nullptr;              // [B,H,Tq]: log2 of a row's sum of exponentials, ∞ of none
};

struct AttentionBackward {
  AttentionRows q, k, v;
  const float* bias = nullptr;
  const int64_t* lengths = nullptr;
  AttentionRows y, dy;
  const float* lse = nullptr;
  AttentionRows dq, dk, dv;  // written whole
  float* dbias = nullptr;    // [B, attention_bias_parts(), H, 2 max_distance + 1], to be summed
  float* delta = nullptr;    // [B,H,Tq], workspace, of use where queries are many
};

bool is_aligned_for_attention(const AttentionRows& rows);
inline int64_t attention_bias_parts(const AttentionShape& shape) {
  return (shape.keys + kAttentionKeys - 1) / kAttentionKeys;
}

void attention_forward_cuda(const AttentionShape& shape, const AttentionForward& arrays,
                            Stream stream);
void attention_backward_cuda(const AttentionShape& shape, const AttentionBackward& arrays,
                             Stream stream);

}  // namespace convseq::kernels
