#include "convseq/ops/attention.h"

#include "convseq/ops/kernel/attention.h"
#include "convseq/ops/reference/attention.h"

namespace convseq::ops {

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options) {
  if (has_attention_kernel(q, k, bias, key_lengths, options)) {
    return kernel::attention(q, k, v, bias, key_lengths, options);
  }
  return reference::attention(q, k, v, bias, key_lengths, options);
}

}  // namespace convseq::ops
