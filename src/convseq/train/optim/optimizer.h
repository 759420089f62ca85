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
  double beta1 = 0.9;  // beta1, beta2 and eps are AdamW's; Adafactor's numbers are T5's, and fixed
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // decoupled; never of norm scales and biases
};

// Where a parameter's gradient is, and what else its new value is copied to; undefined: nothing.
struct GradientAndCopy {
  torch::Tensor gradient;
  torch::Tensor copy;
};
using GradientMap = std::map<std::string, GradientAndCopy>;

// Moves fp32 or float64 parameters along their .grad. With bf16 models these are the fp32 masters.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // A parameter without a gradient keeps its value and its averages.
  void step(double learning_rate);
  int64_t steps() const { return steps_; }

  // The same with clipping before it, all decided on the device: nothing moves where `loss` or the
  // norm of the gradients is not finite, and nobody waits. The caller says count_step() once it
  // knows that the step was taken.
  struct DeviceStep {
    torch::Tensor numbers;  // device_numbers(), on the device
    torch::Tensor loss;     // float64 scalar
    double max_norm = 1;
  };
  virtual bool steps_on_device() const { return false; }
  // Of the next step, on the host. `ahead`: so many before it are under way and will most likely be
  // taken; where one is not, this one's averages count as one step older than they are.
  virtual torch::Tensor device_numbers(double learning_rate, int64_t ahead) const;
  virtual torch::Tensor step_on_device(const GradientMap& gradients,
                                       const DeviceStep& step);  // the norm, on the device
  void count_step() { ++steps_; }

  // "steps", and "<parameter>.<average>" for each running average: the live tensors, not copies.
  TensorMap state() const;
  // Continues bit for bit. Refuses, before anything is changed, a state that is not exactly this
  // optimizer's, naming the first tensor that differs.
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

  // All of `moving` have gradients; steps() counts this update already.
  virtual void update(const Parameters& moving, double learning_rate) = 0;

  // One tensor of each, in their order: what a _foreach op takes.
  static std::vector<torch::Tensor> values(const Parameters& of);
  static std::vector<torch::Tensor> gradients(const Parameters& of);
  static std::vector<torch::Tensor> averages(const Parameters& of, const std::string& name);

  // Norm scales and biases, which have one dimension, are not pulled to zero.
  static bool decays(const torch::Tensor& value) { return value.dim() > 1; }

 private:
  std::vector<Parameter> parameters_;
  int64_t steps_ = 0;
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options,
                                          const TensorMap& parameters);

}  // namespace convseq
