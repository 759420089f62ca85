#include "convseq/ops/attention.h"

#include "convseq/base/error.h"
#include "convseq/ops/kernel/attention.h"
#include "convseq/ops/reference/attention.h"

namespace convseq::ops {

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options) {
  if (options.dropout == 0 && has_attention_step_kernel(q, k, v, bias)) {
    return kernel::attention_of_last(q, k, v, bias, key_lengths);  // which sees all keys
  }
  if (has_attention_kernel(q, k, bias, key_lengths, options)) {
    return kernel::attention(q, k, v, bias, key_lengths, options);
  }
  return reference::attention(q, k, v, bias, key_lengths, options);
}

torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                             const torch::Tensor& bias, const torch::Tensor& positions,
                             AttentionCache& cache) {
  for (const auto* each : {&q, &k, &v}) {
    require(each->dim() == 4 && each->size(2) == 1 && each->sizes() == q.sizes(),
            "attention_step: queries {}, keys {}, values {}; all must be [B,H,1,d]",
            c10::str(q.sizes()), c10::str(k.sizes()), c10::str(v.sizes()));
  }
  require(positions.numel() == q.size(0) && cache.keys.size(0) == q.size(0),
          "attention_step: {} positions and a cache of {} rows for {} queries", positions.numel(),
          cache.keys.size(0), q.size(0));
  if (has_attention_step_kernel(q, k, v, bias)) {
    return kernel::attention_step(q, k, v, bias, positions, cache);
  }
  return reference::attention_step(q, k, v, bias, positions, cache);
}

}  // namespace convseq::ops
