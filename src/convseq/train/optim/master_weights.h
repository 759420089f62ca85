#pragma once

#include "convseq/model/seq2seq.h"
#include "convseq/model/tensor_file.h"
#include "convseq/train/optim/optimizer.h"

namespace convseq {

// The weights that are kept. A model that computes in bf16 has fp32 masters beside it;
// one that computes in fp32 or float64 is its own master.
class MasterWeights {
 public:
  MasterWeights(Seq2Seq& model, torch::Dtype compute);  // turns the model to `compute`

  const TensorMap& values() const { return masters_; }
  TensorMap learning() const;  // those that need gradients: what an optimizer moves
  // The model's gradients are added to the masters', in fp32, and are gone from the model.
  void collect_gradients();
  // By the masters' names: the masters' gradients where they were collected, else the model's.
  GradientMap gradients() const;
  // Of each of the model's parameters its master; where they are the same tensors, nothing.
  std::vector<torch::Tensor> masters_of(const std::vector<torch::Tensor>& parameters) const;
  void clear_gradients();
  void publish();  // the masters' values become the model's

 private:
  bool apart() const { return !model_parameters_.empty(); }

  TensorMap masters_;
  std::vector<torch::Tensor>
      model_parameters_;  // in the order of masters_; empty: the same tensors
};

}  // namespace convseq
