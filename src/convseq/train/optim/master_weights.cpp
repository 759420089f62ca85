#include "convseq/train/optim/master_weights.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "convseq/model/checkpoint.h"

namespace convseq {

MasterWeights::MasterWeights(Seq2Seq& model, torch::Dtype compute) {
  if (compute != torch::kBFloat16) {
    model.to(compute);
    masters_ = parameters_of(model);
    return;
  }
  for (const auto& [name, parameter] : parameters_of(model)) {
    masters_[name] = parameter.detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    masters_[name].set_requires_grad(parameter.requires_grad());
  }
  model.to(compute);
  for (const auto& [name, parameter] : parameters_of(model)) model_parameters_.push_back(parameter);
}

TensorMap MasterWeights::learning() const {
  TensorMap learning = masters_;
  std::erase_if(learning, [](const auto& each) { return !each.second.requires_grad(); });
  return learning;
}

void MasterWeights::collect_gradients() {
  if (!apart()) return;
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> sums, more;
  size_t i = 0;
  for (auto& [name, master] : masters_) {
    torch::Tensor& gradient = model_parameters_[i++].mutable_grad();
    if (!gradient.defined()) continue;
    if (!master.grad().defined()) {
      master.mutable_grad() = gradient.to(torch::kFloat32);
    } else {
      sums.push_back(master.grad());
      more.push_back(gradient);
    }
    gradient.reset();
  }
  if (!sums.empty()) at::_foreach_add_(sums, more);
}

GradientMap MasterWeights::gradients() const {
  GradientMap gradients;
  size_t i = 0;
  for (const auto& [name, master] : masters_) {
    const torch::Tensor parameter = apart() ? model_parameters_[i++] : master;
    const auto& gradient = master.grad().defined() ? master.grad() : parameter.grad();
    if (!gradient.defined() || !master.requires_grad()) continue;
    gradients[name] = {.gradient = gradient,
                       .copy = apart() ? parameter.detach() : torch::Tensor()};
  }
  return gradients;
}

std::vector<torch::Tensor> MasterWeights::masters_of(
    const std::vector<torch::Tensor>& parameters) const {
  if (!apart()) return {};
  std::map<const void*, torch::Tensor> by_parameter;
  size_t i = 0;
  for (const auto& [name, master] : masters_) {
    by_parameter[model_parameters_[i++].unsafeGetTensorImpl()] = master;
  }
  std::vector<torch::Tensor> masters;
  for (const auto& parameter : parameters) {
    masters.push_back(by_parameter.at(parameter.unsafeGetTensorImpl()));
  }
  return masters;
}

void MasterWeights::clear_gradients() {
  for (auto& [name, master] : masters_) master.mutable_grad().reset();
  for (torch::Tensor& parameter : model_parameters_) parameter.mutable_grad().reset();
}

void MasterWeights::publish() {
  if (!apart()) return;
  const torch::NoGradGuard no_grad;
  size_t i = 0;
  for (const auto& [name, master] : masters_) model_parameters_[i++].copy_(master);
}

}  // namespace convseq
