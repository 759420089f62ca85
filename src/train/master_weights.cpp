#include "train/master_weights.h"

#include <torch/torch.h>

#include "model/checkpoint.h"

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
  size_t i = 0;
  for (auto& [name, master] : masters_) {
    torch::Tensor& gradient = model_parameters_[i++].mutable_grad();
    if (gradient.defined()) master.mutable_grad() = gradient.to(torch::kFloat32);
  }
}

GradientMap MasterWeights::gradients() const {
  GradientMap gradients;
  size_t i = 0;
  for (const auto& [name, master] : masters_) {
    const torch::Tensor parameter = apart() ? model_parameters_[i++] : master;
    if (!parameter.grad().defined() || !master.requires_grad()) continue;
    gradients[name] = {.gradient = parameter.grad(),
                       .copy = apart() ? parameter.detach() : torch::Tensor()};
  }
  return gradients;
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
