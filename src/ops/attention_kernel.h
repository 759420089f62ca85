#pragma once

#include "ops/attention.h"

namespace convseq::ops {

// Whether attention_by_kernel() takes these, and no kernel of libtorch's would be faster: bf16 on a
// GPU, heads of 64, no dropout, no bias or one by distance.
bool attention_kernel_takes(const torch::Tensor& q, const torch::Tensor& k,
                            const torch::Tensor& bias, const Lengths& key_lengths,
                            const AttentionOptions& options);

// attention() by kernels/attention.h, forward and backward.
torch::Tensor attention_by_kernel(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v, const torch::Tensor& bias,
                                  const Lengths& key_lengths, bool causal);

}  // namespace convseq::ops
