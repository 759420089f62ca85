#include "convseq/train/optim/adamw.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "convseq/ops/kernel/adamw.h"
#include "convseq/ops/reference/adamw.h"

namespace convseq {
namespace {

// Names of the running averages in checkpoints.
constexpr const char* kExpAvg = "mean";
constexpr const char* kExpAvgSq = "square";

}  // namespace

AdamW::AdamW(const OptimizerOptions& options, const TensorMap& parameters)
    : Optimizer(parameters), options_(options) {
  for (auto& parameter : this->parameters()) {
    parameter.averages[kExpAvg] = torch::zeros_like(parameter.value);
    parameter.averages[kExpAvgSq] = torch::zeros_like(parameter.value);
  }
}

bool AdamW::steps_on_device() const {
  return std::all_of(parameters().begin(), parameters().end(), [](const Parameter& parameter) {
    return ops::has_adamw_kernel(parameter.value);
  });
}

kernels::AdamWStep AdamW::step_numbers(double learning_rate, int64_t t) const {
  return {.learning_rate = learning_rate,
          .bias_correction1 = 1 - std::pow(options_.beta1, static_cast<double>(t)),
          .bias_correction2 = 1 - std::pow(options_.beta2, static_cast<double>(t))};
}

kernels::AdamWOptions AdamW::update_options(double max_norm) const {
  return {.beta1 = options_.beta1,
          .beta2 = options_.beta2,
          .eps = options_.eps,
          .weight_decay = options_.weight_decay,
          .max_norm = max_norm,
          .scale_by_rms = options_.kind == OptimizerKind::AdamWRms};
}

ops::AdamWTensors AdamW::tensors_of(const Parameter& parameter, const GradientAndCopy& gradient) {
  return {.parameter = parameter.value,
          .gradient = gradient.gradient,
          .exp_avg = parameter.averages.at(kExpAvg),
          .exp_avg_sq = parameter.averages.at(kExpAvgSq),
          .copy = gradient.copy,
          .decays = decays(parameter.value)};
}

torch::Tensor AdamW::device_numbers(double learning_rate, int64_t ahead) const {
  const auto step = step_numbers(learning_rate, steps() + ahead + 1);
  return torch::tensor({step.learning_rate, step.bias_correction1, step.bias_correction2},
                       torch::kFloat64);
}

torch::Tensor AdamW::step_on_device(const GradientMap& gradients, const DeviceStep& step) {
  const torch::NoGradGuard no_grad;
  std::vector<ops::AdamWTensors> tensors;
  for (const auto& parameter : parameters()) {
    const auto found = gradients.find(parameter.name);
    if (found != gradients.end()) tensors.push_back(tensors_of(parameter, found->second));
  }
  return ops::adamw(tensors, update_options(step.max_norm), step.numbers, step.loss);
}

void AdamW::update(const Parameters& moving, double learning_rate) {
  std::vector<ops::AdamWTensors> tensors;
  for (const Parameter* parameter : moving) {
    tensors.push_back(tensors_of(*parameter, {.gradient = parameter->value.grad(), .copy = {}}));
  }
  ops::reference::adamw_update(tensors, update_options(/*max_norm=*/0),
                               step_numbers(learning_rate, steps()));
}

}  // namespace convseq
