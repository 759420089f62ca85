#pragma once

#include <memory>
#include <string>
#include <vector>

#include "convseq/base/enum_names.h"
#include "convseq/model/tensor_file.h"

namespace convseq {

enum class OptimizerKind { Adafactor, AdamW, AdamWRms };
template <>
inline constexpr auto kEnumNames<OptimizerKind> = std::to_array<EnumName<OptimizerKind>>({
    {OptimizerKind::Adafactor, "adafactor"},
    {OptimizerKind::AdamW, "adamw"},
    {OptimizerKind::AdamWRms, "adamw_rms"},
});

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::AdamWRms;
  double beta1 = 0.9;  // beta1, beta2 and eps apply to AdamW; Adafactor uses T5's constants
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // decoupled; not applied to norm scales and biases
};

// The gradient of a parameter, and the tensor that also receives its new value (undefined: none).
struct GradientAndCopy {
  torch::Tensor gradient;
  torch::Tensor copy;
};
using GradientMap = std::map<std::string, GradientAndCopy>;

// Updates fp32 or float64 parameters from their .grad. For a bf16 model these are the fp32 masters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // A parameter without a gradient keeps its value and its running averages.
  void step(double learning_rate);
  int64_t steps() const { return steps_; }

  // Clips and steps on the device without synchronising with the host. If `loss` or the gradient
  // norm is not finite, nothing is updated. The caller calls count_step() once it knows that the
  // step was taken.
  struct DeviceStep {
    torch::Tensor numbers;  // device_numbers(), on the device
    torch::Tensor loss;     // float64 scalar
    double max_norm = 1;
  };
  virtual bool steps_on_device() const { return false; }
  // The numbers of a step, on the host. `ahead` is the number of earlier steps in flight, which are
  // assumed to be taken. If one of them is skipped, the bias corrections use a step count that is
  // one too high.
  virtual torch::Tensor device_numbers(double learning_rate, int64_t ahead) const;
  virtual torch::Tensor step_on_device(const GradientMap& gradients,
                                       const DeviceStep& step);  // returns the norm, on the device
  void count_step() { ++steps_; }

  // "steps", and "<parameter>.<average>" for each running average. The tensors are not copied.
  TensorMap state() const;
  // Restores a state bit for bit. Throws an Error that names the first tensor that does not match
  // this optimizer, before anything is changed.
  void load_state(const TensorMap& found, const std::string& origin);

 protected:
  struct Parameter {
    std::string name;
    torch::Tensor value;
    TensorMap averages;
  };
  using Parameters = std::vector<Parameter*>;

  explicit Optimizer(const TensorMap& parameters);
  std::vector<Parameter>& parameters() { return parameters_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // All of `moving` have gradients. steps() already includes this update.
  virtual void update(const Parameters& moving, double learning_rate) = 0;

  // One tensor per parameter, in the same order, as _foreach ops take them.
  static std::vector<torch::Tensor> values(const Parameters& of);
  static std::vector<torch::Tensor> gradients(const Parameters& of);
  static std::vector<torch::Tensor> averages(const Parameters& of, const std::string& name);

  // Weight decay does not apply to norm scales and biases, which have one dimension.
  static bool decays(const torch::Tensor& value) { return value.dim() > 1; }

 private:
  std::vector<Parameter> parameters_;
  int64_t steps_ = 0;
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const TensorMap& parameters);

}  // namespace convseq
