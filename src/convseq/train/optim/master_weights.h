#pragma once

#include "convseq/model/seq2seq.h"
#include "convseq/model/tensor_file.h"
#include "convseq/train/optim/optimizer.h"

namespace convseq {

// The master weights that the optimizer updates and checkpoints hold. A model that computes in bf16
// has separate fp32 masters; the parameters of a model that computes in fp32 or float64 are the
// masters.
class MasterWeights {
 public:
  MasterWeights(Seq2Seq& model, torch::Dtype compute);  // converts the model to `compute`

  const TensorMap& values() const { return masters_; }
  TensorMap learning() const;  // those that require gradients
  // Adds the model's gradients to those of the masters in fp32 and clears them in the model.
  void collect_gradients();
  // By parameter name: the master's gradient if it was collected, otherwise the model's.
  GradientMap gradients() const;
  // The master of each of these model parameters; empty if they are the same tensors.
  std::vector<torch::Tensor> masters_of(const std::vector<torch::Tensor>& parameters) const;
  void clear_gradients();
  void publish();  // copies the masters to the model

 private:
  bool apart() const { return !model_parameters_.empty(); }

  TensorMap masters_;
  std::vector<torch::Tensor>
      model_parameters_;  // in the order of masters_; empty if they are the masters
};

}  // namespace convseq
