#include "convseq/ops/kernel/adamw.h"

#include <torch/types.h>

#include "convseq/base/error.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace {

float* floats(const torch::Tensor& x) { return x.mutable_data_ptr<float>(); }

kernels::AdamWTensor pointers_of(const AdamWTensors& t) {
  require(t.parameter.is_contiguous() && t.gradient.is_contiguous() && t.exp_avg.is_contiguous() &&
              t.exp_avg_sq.is_contiguous() && (!t.copy.defined() || t.copy.is_contiguous()),
          "adamw: parameter {} or its gradient or averages are not contiguous",
          c10::str(t.parameter.sizes()));
  return {.parameter = floats(t.parameter),
          .gradient = t.gradient.const_data_ptr(),
          .exp_avg = floats(t.exp_avg),
          .exp_avg_sq = floats(t.exp_avg_sq),
          .copy = output_or_null(t.copy),
          .size = t.parameter.numel(),
          .gradient_type = kernel_type(t.gradient),
          .decays = t.decays};
}

}  // namespace

bool has_adamw_kernel(const torch::Tensor& parameter) {
  return is_fp32_or_bf16_on_cuda(parameter) && parameter.scalar_type() == torch::kFloat32;
}

torch::Tensor kernel::adamw(const std::vector<AdamWTensors>& tensors,
                            const kernels::AdamWOptions& options, const torch::Tensor& step,
                            const torch::Tensor& loss) {
  static_assert(sizeof(kernels::AdamWStep) == 3 * sizeof(double));
  const c10::DeviceGuard guard(loss.device());
  auto norm = torch::zeros({}, loss.options());
  std::vector<kernels::AdamWTensor> pointers;
  for (const auto& each : tensors) {
    if (each.parameter.numel() > 0) pointers.push_back(pointers_of(each));
  }
  if (pointers.empty()) return norm;
  const auto count = static_cast<int64_t>(pointers.size());
  auto workspace =
      torch::empty({static_cast<int64_t>(kernels::adamw_workspace_cuda(pointers.data(), count))},
                   loss.options().dtype(torch::kUInt8));
  kernels::adamw_cuda(options,
                      {.tensors = pointers.data(),
                       .count = count,
                       .step = static_cast<const kernels::AdamWStep*>(step.const_data_ptr()),
                       .loss = loss.const_data_ptr<double>(),
                       .norm = norm.mutable_data_ptr<double>(),
                       .workspace = workspace.mutable_data_ptr()},
                      current_cuda_stream());
  return norm;
}

}  // namespace convseq::ops
