#pragma once

#include "convseq/ops/attention.h"

namespace convseq::ops::reference {

// softmax(Q Kᵀ + bias + mask) V by libtorch's scaled_dot_product_attention with scale 1; the mask
// is −∞ for keys beyond `key_lengths` and, where causal, for keys after the query.
torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options);

// The same for one more position per row, over the whole cache with later keys masked.
torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& bias, const torch::Tensor& positions,
                             AttentionCache& cache);

AttentionCache quantize_cache(const torch::Tensor& keys, const torch::Tensor& values);

// The same over the values that an int8 cache stands for.
torch::Tensor attention_to_cache(const torch::Tensor& q, const AttentionCache& cache,
                                 const Lengths& key_lengths);

}  // namespace convseq::ops::reference
