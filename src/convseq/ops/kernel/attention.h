#pragma once

#include "convseq/ops/attention.h"

namespace convseq::ops {

// Whether a kernel computes these: bf16 on a GPU, heads of 64 channels, no dropout, no bias or one
// by distance; and no kernel of libtorch's would be faster.
bool has_attention_kernel(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& bias,
                          const Lengths& key_lengths, const AttentionOptions& options);

// The same for a model's inputs with a bias by distance (max_distance 0: none), before there are
// any: such a model should pass its bias by distance, all others want it as [1,H,Tq,Tk].
bool has_attention_kernel(const torch::TensorOptions& inputs, int64_t channels, double dropout,
                          int64_t max_distance);

// The same for one query per row without gradients: fp32 or bf16 on a GPU, heads of 32, 64 or 128
// channels, no bias or one by distance.
bool has_attention_step_kernel(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const torch::Tensor& bias);

// Whether a kernel quantizes these rows [B,H,T,d]: fp32 or bf16 on a GPU, 32, 64 or 128 channels.
bool has_quantize_kernel(const torch::Tensor& x);

namespace kernel {

// kernels/attention.h, forward and backward.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options);

// One query per row at the last of the keys, without gradients.
torch::Tensor attention_of_last(const torch::Tensor& q, const torch::Tensor& k,
                                const torch::Tensor& v, const torch::Tensor& bias,
                                const Lengths& key_lengths);
torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& bias, const torch::Tensor& positions,
                             AttentionCache& cache);

AttentionCache quantize_cache(const torch::Tensor& keys, const torch::Tensor& values);
torch::Tensor attention_to_cache(const torch::Tensor& q, const AttentionCache& cache,
                                 const Lengths& key_lengths);

}  // namespace kernel
}  // namespace convseq::ops
