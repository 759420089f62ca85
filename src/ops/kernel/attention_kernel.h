#pragma once

#include "convseq/ops/attention.h"

namespace convseq::ops {

// Whether attention_by_kernel() serves a model's attention, which should then give its bias by
// distance (all other kernels want it spread): bf16 on a GPU, heads of 64 channels, no
// dropout; a bias by distance up to `max_distance`, 0: none.
bool attention_kernel_serves(const torch::TensorOptions& inputs, int64_t channels, double dropout,
                             int64_t max_distance);

// Whether it serves these, and no kernel of libtorch's would be faster.
bool attention_kernel_takes(const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& bias, const Lengths& key_lengths,
                            const AttentionOptions& options);

// attention() by kernels/attention.h, forward and backward.
torch::Tensor attention_by_kernel(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const torch::Tensor& bias,
                                  const Lengths& key_lengths, bool causal);

}  // namespace convseq::ops
