#include "convseq/ops/cross_entropy.h"

#include <torch/types.h>

#include "convseq/kernels/cross_entropy.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {

bool has_cross_entropy(const torch::Tensor& logits) {
  return is_fp32_or_bf16_on_cuda(logits) && logits.scalar_type() == torch::kFloat32 &&
         logits.is_contiguous();
}

CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options) {
  const c10::DeviceGuard guard(logits.device());
  const auto targets = labels.contiguous();
  const auto weights = options.weights.defined()
                           ? options.weights.to(logits.device(), torch::kFloat32).contiguous()
                           : torch::Tensor();
  CrossEntropy result;
  result.rows = torch::empty({logits.size(0), 4}, logits.options());
  if (options.gradient) {
    result.gradient = torch::empty(logits.sizes(), logits.options().dtype(*options.gradient));
  }
  kernels::cross_entropy_cuda(
      {.rows = logits.size(0),
       .classes = logits.size(1),
       .scale = static_cast<float>(options.scale),
       .smoothing = static_cast<float>(options.smoothing),
       .z_loss = static_cast<float>(options.z_loss),
       .ignored = options.ignored,
       .gradient_type = options.gradient ? kernel_type(result.gradient) : kernels::Type::Fp32},
      {.logits = logits.const_data_ptr<float>(),
       .labels = targets.const_data_ptr<int64_t>(),
       .weights = pointer_or_null<float>(weights),
       .gradient = options.gradient ? result.gradient.mutable_data_ptr() : nullptr,
       .rows = result.rows.mutable_data_ptr<float>()},
      current_cuda_stream());
  return result;
}

}  // namespace convseq::ops
