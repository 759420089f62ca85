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

int64_t AttentionCache::bytes() const {
  const auto bytes = [](const torch::Tensor& x) {
    return x.defined() ? static_cast<int64_t>(x.nbytes()) : 0;
  };
  return bytes(keys) + bytes(values) + bytes(scales);
}

AttentionCache empty_int8_cache(at::IntArrayRef sizes, torch::Device device) {
  const auto on = torch::TensorOptions(device);
  const auto rows = [&] { return torch::zeros(sizes, on.dtype(torch::kInt8)); };
  return {.keys = rows(),
          .values = rows(),
          .scales = torch::zeros({sizes[0], sizes[1], sizes[2], 2}, on.dtype(torch::kFloat32))};
}

AttentionCache quantize_cache(const torch::Tensor& keys, const torch::Tensor& values) {
  return has_quantize_kernel(keys) && has_quantize_kernel(values)
             ? kernel::quantize_cache(keys, values)
             : reference::quantize_cache(keys, values);
}

torch::Tensor attention_to_cache(const torch::Tensor& q, const AttentionCache& cache,
                                 const Lengths& key_lengths) {
  require(cache.is_int8() && q.dim() == 4 && q.size(2) == 1,
          "attention_to_cache: queries {} to a cache of type {}; must be [B,H,1,d] and int8",
          c10::str(q.sizes()), c10::toString(cache.keys.scalar_type()));
  if (has_attention_step_kernel(q, q, q, {})) {
    return kernel::attention_to_cache(q, cache, key_lengths);
  }
  return reference::attention_to_cache(q, cache, key_lengths);
}

}  // namespace convseq::ops
