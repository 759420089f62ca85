#pragma once

#include <torch/nn/module.h>
#include <torch/types.h>

namespace convseq {

// While it lives, the model is in evaluation mode without gradients. Afterwards it is in the mode
// that it had before.
class InferenceScope {
 public:
  explicit InferenceScope(torch::nn::Module& model)
      : model_(model), training_(model.is_training()) {
    if (training_) model_.eval();
  }
  ~InferenceScope() {
    if (training_) model_.train();
  }
  InferenceScope(const InferenceScope&) = delete;
  InferenceScope& operator=(const InferenceScope&) = delete;

 private:
  torch::NoGradGuard no_grad_;
  torch::nn::Module& model_;
  bool training_;
};

}  // namespace convseq
