#include "convseq/train/optim/optimizer.h"

#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/base/error.h"
#include "convseq/train/optim/adafactor.h"
#include "convseq/train/optim/adamw.h"

namespace convseq {
namespace {

constexpr const char* kSteps = "steps";

std::string describe(const torch::Tensor& tensor) {  // "Float [3, 4]"
  return fmt::format("{} [{}]", c10::toString(tensor.scalar_type()),
                     fmt::join(tensor.sizes().vec(), ", "));
}

void check(const OptimizerOptions& options) {
  const auto fraction = [](const char* name, double value) {
    require(value >= 0 && value < 1, "optimizer: {} is {}; must be in [0, 1)", name, value);
  };
  fraction("beta1", options.beta1);
  fraction("beta2", options.beta2);
  require(options.eps > 0, "optimizer: eps is {}; must be > 0", options.eps);
  require(options.weight_decay >= 0, "optimizer: weight_decay is {}; must be ≥ 0",
          options.weight_decay);
}

template <class Get>
std::vector<torch::Tensor> collect(const auto& parameters, Get get) {
  std::vector<torch::Tensor> tensors;
  tensors.reserve(parameters.size());
  for (const auto* parameter : parameters) tensors.push_back(get(*parameter));
  return tensors;
}

}  // namespace

Optimizer::Optimizer(const TensorMap& parameters) {
  require(!parameters.empty(), "optimizer: there are no parameters to train");
  for (const auto& [name, value] : parameters) {
    const auto type = value.scalar_type();
    require(type == torch::kFloat32 || type == torch::kFloat64,
            "optimizer: parameter {} is {}; give its fp32 master", name, c10::toString(type));
    parameters_.push_back({.name = name, .value = value, .averages = {}});
  }
}

void Optimizer::step(double learning_rate) {
  const torch::NoGradGuard no_grad;
  ++steps_;
  Parameters moving;
  for (auto& parameter : parameters_) {
    if (parameter.value.grad().defined()) moving.push_back(&parameter);
  }
  if (!moving.empty()) update(moving, learning_rate);
}

torch::Tensor Optimizer::device_numbers(double, int64_t) const {
  throw Error("optimizer: this one does not step on the device");
}

torch::Tensor Optimizer::step_on_device(const GradientMap&, const DeviceStep&) {
  throw Error("optimizer: this one does not step on the device");
}

TensorMap Optimizer::state() const {
  TensorMap state{{kSteps, torch::tensor(steps_, torch::kInt64)}};
  for (const auto& parameter : parameters_) {
    for (const auto& [name, average] : parameter.averages) {
      state[parameter.name + "." + name] = average;
    }
  }
  return state;
}

void Optimizer::load_state(const TensorMap& found, const std::string& origin) {
  TensorMap mine = state();
  for (const auto& [name, tensor] : mine) {
    const auto match = found.find(name);
    require(match != found.end(), "{}: optimizer state {} is missing", origin, name);
    require(describe(match->second) == describe(tensor),
            "{}: optimizer state {} is {}; this optimizer and model want {}", origin, name,
            describe(match->second), describe(tensor));
  }
  for (const auto& [name, tensor] : found) {
    require(mine.contains(name),
            "{}: optimizer state {} belongs to another optimizer or model; use the one it was "
            "written with",
            origin, name);
  }
  const torch::NoGradGuard no_grad;
  for (auto& [name, tensor] : mine) tensor.copy_(found.at(name));
  steps_ = mine.at(kSteps).item<int64_t>();
}

std::vector<torch::Tensor> Optimizer::values(const Parameters& of) {
  return collect(of, [](const Parameter& parameter) { return parameter.value; });
}

std::vector<torch::Tensor> Optimizer::gradients(const Parameters& of) {
  return collect(of, [](const Parameter& parameter) { return parameter.value.grad(); });
}

std::vector<torch::Tensor> Optimizer::averages(const Parameters& of, const std::string& name) {
  return collect(of, [&](const Parameter& parameter) { return parameter.averages.at(name); });
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const TensorMap& parameters) {
  check(options);
  switch (options.kind) {
    case OptimizerKind::Adafactor:
      return std::make_unique<Adafactor>(options, parameters);
    case OptimizerKind::AdamW:
    case OptimizerKind::AdamWRms:
      return std::make_unique<AdamW>(options, parameters);
  }
  return nullptr;
}

}  // namespace convseq
