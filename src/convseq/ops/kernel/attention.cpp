#include "convseq/ops/kernel/attention.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <optional>

#include "convseq/base/error.h"
#include "convseq/kernels/attention.h"
#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace kernel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

kernels::AttentionRows rows_of(const torch::Tensor& x) {  // [B,H,T,64]
  return {
      .data = x.const_data_ptr(), .batch = x.stride(0), .head = x.stride(1), .time = x.stride(2)};
}

// Laid out as the kernels read it; copied where it is not.
torch::Tensor aligned(const torch::Tensor& x) {
  const bool fits = x.stride(3) == 1 && kernels::is_aligned_for_attention(rows_of(x));
  return fits ? x : x.clone(torch::MemoryFormat::Contiguous);
}

// [B,H,T,64] with the heads of a position next to one another, as the projections read them.
torch::Tensor new_rows(const torch::Tensor& like) {
  const int64_t heads = like.size(1), time = like.size(2), channels = like.size(3);
  return torch::empty_strided(
      like.sizes(), {time * heads * channels, channels, heads * channels, 1}, like.options());
}

// A bias by distance and lengths, as the kernels read them; undefined where there are none.
torch::Tensor kernel_bias(const torch::Tensor& bias, const torch::Tensor& q) {
  if (!bias.defined()) return bias;
  require(bias.size(0) == q.size(1) && bias.size(1) % 2 == 1 && bias.device() == q.device(),
          "attention: bias is {} on {}; must be [{}, 2 max_distance + 1] on {}",
          c10::str(bias.sizes()), bias.device().str(), q.size(1), q.device().str());
  return bias.to(torch::kFloat32).contiguous();
}

torch::Tensor kernel_lengths(const Lengths& lengths, const torch::Tensor& q) {
  if (lengths.all_full()) return {};
  require(lengths.values.numel() == q.size(0), "attention: {} lengths for {} rows",
          lengths.values.numel(), q.size(0));
  return lengths.values.to(q.device(), torch::kInt64).contiguous();
}

void check_rows(const torch::Tensor& rows, const torch::Tensor& q, int64_t keys,
                std::optional<torch::Dtype> type = std::nullopt) {
  require(rows.sizes() == at::IntArrayRef({q.size(0), q.size(1), keys, q.size(3)}) &&
              rows.scalar_type() == type.value_or(q.scalar_type()) && rows.device() == q.device(),
          "attention: keys or values are {} {} on {}; queries are {} {} on {}",
          c10::toString(rows.scalar_type()), c10::str(rows.sizes()), rows.device().str(),
          c10::toString(q.scalar_type()), c10::str(q.sizes()), q.device().str());
}

void check_cache(const AttentionCache& cache, const torch::Tensor& q) {
  const int64_t keys = cache.keys.size(2);
  for (const auto* each : {&cache.keys, &cache.values}) {
    check_rows(*each, q, keys, cache.is_int8() ? torch::kInt8 : q.scalar_type());
    require(each->is_contiguous(), "attention_step: the cache is not contiguous");
  }
  if (!cache.is_int8()) return;
  require(cache.scales.sizes() == at::IntArrayRef({q.size(0), q.size(1), keys, 2}) &&
              cache.scales.scalar_type() == torch::kFloat32 && cache.scales.is_contiguous() &&
              cache.scales.device() == q.device(),
          "attention_step: scales are {} {}; must be fp32 [B,H,{},2]",
          c10::toString(cache.scales.scalar_type()), c10::str(cache.scales.sizes()), keys);
}

kernels::AttentionShape shape_of(const torch::Tensor& q, const torch::Tensor& k,
                                 const torch::Tensor& bias, bool causal) {
  return {.batch = q.size(0),
          .heads = q.size(1),
          .queries = q.size(2),
          .keys = k.size(2),
          .causal = causal,
          .max_distance = bias.defined() ? bias.size(1) / 2 : 0};
}

torch::Tensor one_per_query(const torch::Tensor& q) {
  return torch::empty({q.size(0), q.size(1), q.size(2)}, q.options().dtype(torch::kFloat32));
}

class Attention : public torch::autograd::Function<Attention> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& queries,
                               const torch::Tensor& keys, const torch::Tensor& values,
                               const std::optional<torch::Tensor>& by_distance,
                               const std::optional<torch::Tensor>& key_lengths, bool causal) {
    const c10::DeviceGuard guard(queries.device());
    const auto bias = by_distance.value_or(torch::Tensor());
    const auto lengths = key_lengths.value_or(torch::Tensor());
    const auto q = aligned(queries), k = aligned(keys), v = aligned(values);
    const auto y = new_rows(q), lse = one_per_query(q);
    kernels::attention_forward_cuda(shape_of(q, k, bias, causal),
                                    {.q = rows_of(q),
                                     .k = rows_of(k),
                                     .v = rows_of(v),
                                     .bias = pointer_or_null<float>(bias),
                                     .lengths = pointer_or_null<int64_t>(lengths),
                                     .y = rows_of(y),
                                     .lse = output_or_null<float>(lse)},
                                    current_cuda_stream());
    context->save_for_backward({q, k, v, bias, lengths, y, lse});
    context->saved_data["causal"] = causal;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_double_backward("attention");
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2], &bias = saved[3];
    const c10::DeviceGuard guard(q.device());
    const auto shape = shape_of(q, k, bias, context->saved_data["causal"].toBool());
    const auto dy = aligned(gradients[0]);
    const auto dq = new_rows(q), dk = new_rows(k), dv = new_rows(v), delta = one_per_query(q);
    torch::Tensor dbias;
    if (shape.max_distance > 0) {
      const int64_t tiles = kernels::attention_bias_parts(shape);
      dbias = torch::empty({shape.batch * tiles, bias.size(0), bias.size(1)}, bias.options());
    }
    kernels::attention_backward_cuda(shape,
                                     {.q = rows_of(q),
                                      .k = rows_of(k),
                                      .v = rows_of(v),
                                      .bias = pointer_or_null<float>(bias),
                                      .lengths = pointer_or_null<int64_t>(saved[4]),
                                      .y = rows_of(saved[5]),
                                      .dy = rows_of(dy),
                                      .lse = pointer_or_null<float>(saved[6]),
                                      .dq = rows_of(dq),
                                      .dk = rows_of(dk),
                                      .dv = rows_of(dv),
                                      .dbias = output_or_null<float>(dbias),
                                      .delta = output_or_null<float>(delta)},
                                     current_cuda_stream());
    if (bias.defined()) dbias = shape.max_distance > 0 ? dbias.sum(0) : torch::zeros_like(bias);
    return {dq, dk, dv, dbias, {}, {}};
  }
};

// `step` holds the arrays that differ; this adds queries, keys, values, bias and output.
torch::Tensor run_step(const torch::Tensor& queries, const AttentionCache& cache,
                       const torch::Tensor& by_distance, kernels::AttentionStep step) {
  const c10::DeviceGuard guard(queries.device());
  const auto q = aligned(queries), bias = kernel_bias(by_distance, queries);
  const auto y = new_rows(q);
  step.q = rows_of(q);
  step.k = rows_of(cache.keys);
  step.v = rows_of(cache.values);
  step.scales = output_or_null<float>(cache.scales);
  step.bias = pointer_or_null<float>(bias);
  step.y = rows_of(y);
  kernels::attention_step_cuda({.type = kernel_type(q),
                                .batch = q.size(0),
                                .heads = q.size(1),
                                .channels = q.size(3),
                                .keys = cache.keys.size(2),
                                .max_distance = bias.defined() ? bias.size(1) / 2 : 0,
                                .int8_keys = cache.is_int8()},
                               step, current_cuda_stream());
  return y;
}

}  // namespace

torch::Tensor attention_of_last(const torch::Tensor& q, const torch::Tensor& keys,
                                const torch::Tensor& values, const torch::Tensor& bias,
                                const Lengths& key_lengths) {
  for (const auto* each : {&keys, &values}) check_rows(*each, q, keys.size(2));
  const auto k = aligned(keys), v = aligned(values);
  const auto lengths = kernel_lengths(key_lengths, q);
  return run_step(q, {.keys = k, .values = v}, bias,
                  {.lengths = pointer_or_null<int64_t>(lengths)});
}

AttentionCache quantize_cache(const torch::Tensor& keys, const torch::Tensor& values) {
  const c10::DeviceGuard guard(keys.device());
  AttentionCache cache = empty_int8_cache(keys.sizes(), keys.device());
  float* scales = cache.scales.mutable_data_ptr<float>();
  const auto quantize = [&](const torch::Tensor& from, const torch::Tensor& to, float* first) {
    const auto x = aligned(from);
    kernels::quantize_rows_cuda(
        {.type = kernel_type(x),
         .batch = x.size(0),
         .heads = x.size(1),
         .time = x.size(2),
         .channels = x.size(3)},
        {.x = rows_of(x), .quantized = to.mutable_data_ptr<int8_t>(), .scales = first},
        current_cuda_stream());
  };
  quantize(keys, cache.keys, scales);
  quantize(values, cache.values, scales + 1);
  return cache;
}

torch::Tensor attention_to_cache(const torch::Tensor& q, const AttentionCache& cache,
                                 const Lengths& key_lengths) {
  check_cache(cache, q);
  const auto lengths = kernel_lengths(key_lengths, q);
  return run_step(q, cache, {},
                  {.lengths = pointer_or_null<int64_t>(lengths),
                   .prefetch_keys = !lengths.defined() || lengths.is_same(key_lengths.values)});
}

torch::Tensor attention_step(const torch::Tensor& q, const torch::Tensor& keys,
                             const torch::Tensor& values, const torch::Tensor& bias,
                             const torch::Tensor& positions, AttentionCache& cache) {
  check_cache(cache, q);
  for (const auto* each : {&keys, &values}) check_rows(*each, q, 1);
  require(positions.scalar_type() == torch::kInt64 && positions.device() == q.device() &&
              positions.is_contiguous(),
          "attention_step: positions are {} on {}; must be int64 on {}",
          c10::toString(positions.scalar_type()), positions.device().str(), q.device().str());
  const auto k = aligned(keys), v = aligned(values);
  return run_step(q, cache, bias,
                  {.positions = positions.const_data_ptr<int64_t>(),
                   .new_k = rows_of(k),
                   .new_v = rows_of(v),
                   .prefetch_keys = cache.is_int8()});
}

torch::Tensor attention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& bias, const Lengths& key_lengths,
                        const AttentionOptions& options) {
  for (const auto* each : {&k, &v}) check_rows(*each, q, k.size(2));
  std::optional<torch::Tensor> by_distance, lengths;
  if (bias.defined()) by_distance = kernel_bias(bias, q);
  if (!key_lengths.all_full()) lengths = kernel_lengths(key_lengths, q);
  return Attention::apply(q, k, v, by_distance, lengths, options.causal);
}

}  // namespace kernel

bool has_attention_kernel(const torch::TensorOptions& inputs, int64_t channels, double dropout,
                          int64_t max_distance) {
  return inputs.device().is_cuda() && kernels::built_with_cuda() &&
         inputs.dtype() == torch::kBFloat16 && channels == kernels::kAttentionChannels &&
         dropout == 0 && max_distance <= kernels::kAttentionMaxDistance;
}

bool has_attention_kernel(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& bias,
                          const Lengths& key_lengths, const AttentionOptions& options) {
  const int64_t queries = q.size(2), keys = k.size(2);
  if (bias.defined()) {
    return is_by_distance(bias) &&
           has_attention_kernel(q.options(), q.size(3), options.dropout, bias.size(1) / 2);
  }
  // Without bias, lengths or a shifted causal mask, cuDNN is faster for many keys.
  constexpr int64_t kManyKeys = 512;
  const bool plain = key_lengths.all_full() && (!options.causal || queries == keys);
  return !(plain && queries > 1 && keys > kManyKeys) &&
         has_attention_kernel(q.options(), q.size(3), options.dropout, 0);
}

bool has_attention_step_kernel(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, const torch::Tensor& bias) {
  const bool wants_gradients = torch::GradMode::is_enabled() &&
                               (q.requires_grad() || k.requires_grad() || v.requires_grad());
  return is_fp32_or_bf16_on_cuda(q) && q.size(2) == 1 && !wants_gradients &&
         kernels::has_attention_step_channels(q.size(3)) &&
         (!bias.defined() ||
          (is_by_distance(bias) && bias.size(1) / 2 <= kernels::kAttentionMaxDistance));
}

bool has_quantize_kernel(const torch::Tensor& x) {
  return is_fp32_or_bf16_on_cuda(x) && x.dim() == 4 &&
         kernels::has_attention_step_channels(x.size(3)) && x.size(2) > 0;
}

}  // namespace convseq::ops
