#include "convseq/ops/kernel/cross_entropy.h"

#include <torch/types.h>

#include "convseq/kernels/cross_entropy.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {

bool has_cross_entropy_kernel(const torch::Tensor& logits) {
  return is_fp32_or_bf16_on_cuda(logits) && logits.scalar_type() == torch::kFloat32 &&
         logits.is_contiguous();
}

CrossEntropy kernel::cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                                   const CrossEntropyOptions& options) {
  const c10::DeviceGuard guard(logits.device());
  const auto targets = labels.contiguous();
  const auto weights = options.weights.defined()
                           ? options.weights.to(logits.device(), torch::kFloat32).contiguous()
                           : torch::Tensor();
  const auto rows = torch::empty({logits.size(0), 4}, logits.options());
  torch::Tensor gradient;
  if (options.gradient) {
    gradient = torch::empty(logits.sizes(), logits.options().dtype(*options.gradient));
  }
  kernels::cross_entropy_cuda(
      {.rows = logits.size(0),
       .classes = logits.size(1),
       .scale = static_cast<float>(options.scale),
       .smoothing = static_cast<float>(options.smoothing),
       .z_loss = static_cast<float>(options.z_loss),
       .ignored = options.ignored,
       .gradient_type = options.gradient ? kernel_type(gradient) : kernels::Type::Fp32},
      {.logits = logits.const_data_ptr<float>(),
       .labels = targets.const_data_ptr<int64_t>(),
       .weights = pointer_or_null<float>(weights),
       .gradient = output_or_null(gradient),
       .rows = rows.mutable_data_ptr<float>()},
      current_cuda_stream());
  const auto sums = rows.sum(0, /*keepdim=*/false, torch::kFloat64).unbind();
  return {.loss = sums[0],
          .nll = sums[1],
          .z_loss = sums[2],
          .correct = sums[3].to(torch::kInt64),
          .gradient = gradient};
}

}  // namespace convseq::ops
