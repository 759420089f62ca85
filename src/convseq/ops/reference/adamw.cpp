#include "convseq/ops/reference/adamw.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>

#include "convseq/ops/reference/tensor_norms.h"

namespace convseq::ops::reference {
namespace {

std::vector<torch::Tensor> collect(const std::vector<AdamWTensors>& all,
                                   torch::Tensor AdamWTensors::*member) {
  std::vector<torch::Tensor> tensors;
  tensors.reserve(all.size());
  for (const auto& each : all) tensors.push_back(each.*member);
  return tensors;
}

// One factor per parameter. A _foreach op takes such factors from the host, so the RMS of all
// parameters is copied there once per step.
std::vector<double> scales(torch::TensorList parameters, bool by_rms) {
  if (!by_rms) return std::vector<double>(parameters.size(), 1.0);
  const auto values = parameter_scales(parameters).to(torch::kCPU, torch::kFloat64);
  return {values.const_data_ptr<double>(), values.const_data_ptr<double>() + values.numel()};
}

}  // namespace

void adamw_update(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                  const kernels::AdamWStep& step) {
  const torch::NoGradGuard no_grad;
  const auto p = collect(tensors, &AdamWTensors::parameter);
  const auto g = collect(tensors, &AdamWTensors::gradient);
  const auto m = collect(tensors, &AdamWTensors::exp_avg);
  const auto v = collect(tensors, &AdamWTensors::exp_avg_sq);

  std::vector<at::Scalar> step_sizes;
  for (const double scale : scales(p, options.scale_by_rms)) {
    step_sizes.emplace_back(-step.learning_rate * scale / step.bias_correction1);
  }
  std::vector<torch::Tensor> decaying;
  for (const auto& each : tensors) {
    if (each.decays) decaying.push_back(each.parameter);
  }
  if (options.weight_decay > 0 && !decaying.empty()) {
    at::_foreach_mul_(decaying, 1 - step.learning_rate * options.weight_decay);
  }

  at::_foreach_lerp_(m, g, 1 - options.beta1);
  at::_foreach_mul_(v, options.beta2);
  at::_foreach_addcmul_(v, g, g, 1 - options.beta2);
  const auto root = at::_foreach_sqrt(v);
  at::_foreach_div_(root, std::sqrt(step.bias_correction2));
  at::_foreach_add_(root, options.eps);
  at::_foreach_addcdiv_(p, m, root, step_sizes);
  for (const auto& each : tensors) {
    if (each.copy.defined()) each.copy.copy_(each.parameter);
  }
}

torch::Tensor adamw(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                    const torch::Tensor& step, const torch::Tensor& loss) {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> wide;
  for (const auto& each : tensors) wide.push_back(each.gradient.to(each.parameter.scalar_type()));
  if (tensors.empty()) return torch::zeros({}, loss.options());
  const auto norm = norms(wide).to(torch::kFloat64).norm();
  const double length = norm.item<double>();
  if (!std::isfinite(length) || !std::isfinite(loss.item<double>())) return norm;

  auto clipped = tensors;
  for (size_t i = 0; i < tensors.size(); ++i) {
    clipped[i].gradient =
        length > options.max_norm ? wide[i] * (options.max_norm / length) : wide[i];
  }
  const auto numbers = step.cpu();
  const double* values = numbers.const_data_ptr<double>();
  adamw_update(
      clipped, options,
      {.learning_rate = values[0], .bias_correction1 = values[1], .bias_correction2 = values[2]});
  return norm;
}

}  // namespace convseq::ops::reference
