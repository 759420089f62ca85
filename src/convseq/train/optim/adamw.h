#pragma once

#include "convseq/ops/adamw.h"
#include "convseq/train/optim/optimizer.h"

namespace convseq {

// AdamW (Loshchilov and Hutter 2019) as in PyTorch. With AdamWRms the step is multiplied by
// max(1e-3, RMS(parameter)), as in nanoT5. Unlike nanoT5, eps is added after the bias correction,
// and weight decay precedes the step. The formulas are in ops/reference/adamw.h.
class AdamW : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const TensorMap& parameters);

  bool steps_on_device() const override;  // true on a GPU in fp32
  torch::Tensor device_numbers(double learning_rate, int64_t ahead) const override;
  torch::Tensor step_on_device(const GradientMap& gradients, const DeviceStep& step) override;

 protected:
  void update(const Parameters& moving, double learning_rate) override;

 private:
  kernels::AdamWStep step_numbers(double learning_rate, int64_t t) const;  // for step t = 1, 2, …
  kernels::AdamWOptions update_options(double max_norm) const;
  static ops::AdamWTensors tensors_of(const Parameter& parameter, const GradientAndCopy& gradient);

  OptimizerOptions options_;
};

}  // namespace convseq
