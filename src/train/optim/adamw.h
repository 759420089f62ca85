#pragma once

#include "convseq/train/optim/optimizer.h"

namespace convseq {

// AdamW (Loshchilov and Hutter 2019) in PyTorch's form, and the idea of nanoT5: the same step times
// max(1e-3, RMS(parameter)). nanoT5's own code adds eps = 1e-6 before the bias correction, and
// decays after the step; here both are PyTorch's.
//   m = β1 m + (1 − β1) g,  v = β2 v + (1 − β2) g²
//   p = p − lr·decay·p − lr·scale · m/(1 − β1ᵗ) / (sqrt(v/(1 − β2ᵗ)) + eps)
class AdamW : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const TensorMap& parameters);

  bool steps_on_device() const override;  // on a GPU, in fp32
  torch::Tensor device_numbers(double learning_rate, int64_t ahead) const override;
  torch::Tensor step_on_device(const GradientMap& gradients, const DeviceStep& step) override;

 protected:
  void update(const Parameters& moving, double learning_rate) override;

 private:
  std::vector<double> scales(torch::TensorList values) const;

  OptimizerOptions options_;
};

}  // namespace convseq
