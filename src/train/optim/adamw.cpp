#include "convseq/train/optim/adamw.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>

#include "convseq/ops/adamw.h"
#include "convseq/train/optim/norms.h"

namespace convseq {

AdamW::AdamW(const OptimizerOptions& options, const TensorMap& parameters)
    : Optimizer(parameters), options_(options) {
  for (auto& parameter : this->parameters()) {
    parameter.averages["mean"] = torch::zeros_like(parameter.value);
    parameter.averages["square"] = torch::zeros_like(parameter.value);
  }
}

bool AdamW::steps_on_device() const {
  return std::all_of(parameters().begin(), parameters().end(),
                     [](const Parameter& parameter) { return ops::has_adamw(parameter.value); });
}

torch::Tensor AdamW::device_numbers(double learning_rate, int64_t ahead) const {
  const auto t = static_cast<double>(steps() + ahead + 1);
  return torch::tensor(
      {learning_rate, 1 - std::pow(options_.beta1, t), 1 - std::pow(options_.beta2, t)},
      torch::kFloat64);
}

torch::Tensor AdamW::step_on_device(const GradientMap& gradients, const DeviceStep& step) {
  const torch::NoGradGuard no_grad;
  std::vector<ops::AdamWTensors> tensors;
  for (const auto& [name, value, averages] : parameters()) {
    const auto found = gradients.find(name);
    if (found == gradients.end()) continue;
    tensors.push_back({.value = value,
                       .gradient = found->second.gradient,
                       .mean = averages.at("mean"),
                       .square = averages.at("square"),
                       .copy = found->second.copy,
                       .decays = decays(value)});
  }
  return ops::adamw(tensors,
                    {.beta1 = options_.beta1,
                     .beta2 = options_.beta2,
                     .eps = options_.eps,
                     .weight_decay = options_.weight_decay,
                     .max_norm = step.max_norm,
                     .by_size = options_.kind == OptimizerKind::AdamWRms},
                    step.numbers, step.loss);
}

// A factor for each parameter. A _foreach op takes such factors from the host, so the RMS of all
// parameters comes over in one copy a step.
std::vector<double> AdamW::scales(torch::TensorList values) const {
  if (options_.kind == OptimizerKind::AdamW) return std::vector<double>(values.size(), 1.0);
  const auto sizes = parameter_sizes(values).to(torch::kCPU, torch::kFloat64);
  return {sizes.const_data_ptr<double>(), sizes.const_data_ptr<double>() + sizes.numel()};
}

void AdamW::update(const Parameters& moving, double learning_rate) {
  const auto p = values(moving), g = gradients(moving);
  const auto m = averages(moving, "mean"), v = averages(moving, "square");
  const auto t = static_cast<double>(steps());

  std::vector<at::Scalar> steps_of_each;
  for (const double scale : scales(p)) {
    steps_of_each.emplace_back(-learning_rate * scale / (1 - std::pow(options_.beta1, t)));
  }
  std::vector<torch::Tensor> decaying;
  std::copy_if(p.begin(), p.end(), std::back_inserter(decaying), decays);
  if (options_.weight_decay > 0 && !decaying.empty()) {
    at::_foreach_mul_(decaying, 1 - learning_rate * options_.weight_decay);
  }

  at::_foreach_lerp_(m, g, 1 - options_.beta1);
  at::_foreach_mul_(v, options_.beta2);
  at::_foreach_addcmul_(v, g, g, 1 - options_.beta2);
  const auto root = at::_foreach_sqrt(v);
  at::_foreach_div_(root, std::sqrt(1 - std::pow(options_.beta2, t)));
  at::_foreach_add_(root, options_.eps);
  at::_foreach_addcdiv_(p, m, root, steps_of_each);
}

}  // namespace convseq
