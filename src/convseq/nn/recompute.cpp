#include "convseq/nn/recompute.h"

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>

namespace convseq::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Sets the device's generator to `state` and restores the previous state at the end of its
// lifetime.
class RandomReplay {
 public:
  explicit RandomReplay(torch::Device device, const torch::Tensor& state)
      : generator_(at::globalContext().defaultGenerator(device)), before_(generator_.get_state()) {
    generator_.set_state(state);
  }
  ~RandomReplay() { generator_.set_state(before_); }
  RandomReplay(const RandomReplay&) = delete;
  RandomReplay& operator=(const RandomReplay&) = delete;

 private:
  torch::Generator generator_;
  torch::Tensor before_;
};

struct Recomputation : torch::CustomClassHolder {
  std::function<torch::Tensor(const Inputs&)> block;
  torch::Tensor random_state;
};

class RecomputeFunction : public torch::autograd::Function<RecomputeFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, torch::TensorList inputs,
                               const c10::intrusive_ptr<Recomputation>& what) {
    what->random_state = at::globalContext().defaultGenerator(inputs.front().device()).get_state();
    context->save_for_backward(inputs.vec());
    context->saved_data["what"] = c10::IValue::make_capsule(what);
    return what->block(
        {inputs.begin(), inputs.end()});  // autograd records nothing within a Function
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const auto what =
        c10::static_intrusive_pointer_cast<Recomputation>(context->saved_data["what"].toCapsule());
    variable_list inputs;
    for (const auto& saved : context->get_saved_variables()) {
      inputs.push_back(saved.detach().requires_grad_(saved.requires_grad()));
    }
    {
      const torch::AutoGradMode grad_mode(true);
      const RandomReplay replay(inputs.front().device(), what->random_state);
      what->block({inputs.begin(), inputs.end()}).backward(grad_outputs.front());
    }
    variable_list grad_inputs;
    for (const auto& input : inputs) grad_inputs.push_back(input.grad());
    grad_inputs.emplace_back();  // no gradient for the block itself
    return grad_inputs;
  }
};

}  // namespace

torch::Tensor recompute(std::function<torch::Tensor(const Inputs&)> block, const Inputs& inputs) {
  const bool learns = std::any_of(inputs.begin(), inputs.end(), [](const torch::Tensor& input) {
    return input.defined() && input.requires_grad();
  });
  // Autograd calls backward() only if an input requires a gradient.
  if (!learns || !torch::GradMode::is_enabled()) return block(inputs);
  // Autograd accepts no undefined inputs. They are removed here and inserted again for the block.
  variable_list defined;
  std::vector<bool> is_defined;
  for (const torch::Tensor& input : inputs) {
    is_defined.push_back(input.defined());
    if (input.defined()) defined.push_back(input);
  }
  auto what = c10::make_intrusive<Recomputation>();
  what->block = [block = std::move(block), is_defined](const Inputs& given) {
    Inputs all;
    size_t next = 0;
    for (const bool given_one : is_defined) {
      all.push_back(given_one ? given[next++] : Stream());
    }
    return block(all);
  };
  return RecomputeFunction::apply(torch::TensorList(defined), what);
}

}  // namespace convseq::nn
