#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/conv.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace kernel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// [H,k] in the model's type to fp32, with one launch in each direction: for so few values the
// launches are all of the time.
class TapSoftmax : public torch::autograd::Function<TapSoftmax> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& logits) {
    auto taps = torch::empty_like(logits, torch::kFloat32);
    const c10::DeviceGuard guard(logits.device());
    kernels::tap_softmax_forward_cuda(shape_of(logits), logits.const_data_ptr(),
                                      taps.mutable_data_ptr<float>(), current_cuda_stream());
    context->save_for_backward({logits, taps});
    return taps;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_double_backward("tap_softmax");
    const auto saved = context->get_saved_variables();
    const auto dtaps = gradients[0].contiguous();
    auto dlogits = torch::empty_like(saved[0]);
    const c10::DeviceGuard guard(dlogits.device());
    kernels::tap_softmax_backward_cuda(shape_of(dlogits), saved[1].const_data_ptr<float>(),
                                       dtaps.const_data_ptr<float>(), dlogits.mutable_data_ptr(),
                                       current_cuda_stream());
    return {dlogits};
  }

 private:
  static kernels::ConvShape shape_of(const torch::Tensor& logits) {
    return {.type = kernel_type(logits), .heads = logits.size(0), .kernel = logits.size(1)};
  }
};

}  // namespace

torch::Tensor tap_softmax(const torch::Tensor& logits) {
  return TapSoftmax::apply(logits.contiguous());
}

}  // namespace kernel

bool has_tap_softmax_kernel(const torch::Tensor& logits) {
  return logits.dim() == 2 && is_fp32_or_bf16_on_cuda(logits);
}

}  // namespace convseq::ops
