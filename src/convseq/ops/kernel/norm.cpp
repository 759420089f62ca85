#include "convseq/ops/kernel/norm.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <optional>

#include "convseq/base/error.h"
#include "convseq/kernels/norm.h"
#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace kernel {
namespace {

using kernels::NormShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

NormShape shape_of(const torch::Tensor& x, bool centred, double eps) {
  return {.type = kernel_type(x),
          .rows = x.size(-1) == 0 ? 0 : x.numel() / x.size(-1),
          .channels = x.size(-1),
          .centred = centred,
          .eps = static_cast<float>(eps)};
}

struct Normed {
  torch::Tensor y, mean, scale;
};

// `bias` is LayerNorm's, else undefined; `residual` may be undefined. All are contiguous.
Normed forward_of(const torch::Tensor& x, const torch::Tensor& weight, const torch::Tensor& bias,
                  const torch::Tensor& residual, double eps) {
  const c10::DeviceGuard guard(x.device());
  const NormShape shape = shape_of(x, bias.defined(), eps);
  const auto statistic = [&] {
    return torch::empty({shape.rows}, x.options().dtype(torch::kFloat32));
  };
  Normed result{torch::empty_like(x), shape.centred ? statistic() : torch::Tensor(), statistic()};
  kernels::norm_forward_cuda(
      shape,
      {.x = x.const_data_ptr(),
       .weight = weight.const_data_ptr(),
       .bias = pointer_or_null(bias),
       .residual = pointer_or_null(residual),
       .y = result.y.mutable_data_ptr(),
       .mean = shape.centred ? result.mean.mutable_data_ptr<float>() : nullptr,
       .scale = result.scale.mutable_data_ptr<float>()},
      current_cuda_stream());
  return result;
}

struct NormGradients {
  torch::Tensor x, weight, bias;
};

// `mean` is LayerNorm's, else undefined; `input_gradient` is another gradient of x to add, or
// undefined.
NormGradients backward_of(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& mean, const torch::Tensor& scale,
                          const torch::Tensor& dy, const torch::Tensor& input_gradient) {
  refuse_double_backward("norm");
  const c10::DeviceGuard guard(x.device());
  const NormShape shape = shape_of(x, mean.defined(), /*eps=*/0);
  NormGradients gradients{torch::empty_like(x), torch::empty_like(weight),
                          shape.centred ? torch::empty_like(weight) : torch::Tensor()};
  auto workspace =
      torch::empty({static_cast<int64_t>(kernels::norm_backward_workspace_cuda(shape))},
                   x.options().dtype(torch::kUInt8));
  kernels::norm_backward_cuda(shape,
                              {.x = x.const_data_ptr(),
                               .weight = weight.const_data_ptr(),
                               .mean = pointer_or_null<float>(mean),
                               .scale = scale.const_data_ptr<float>(),
                               .dy = dy.const_data_ptr(),
                               .dx_to_add = pointer_or_null(input_gradient),
                               .dx = gradients.x.mutable_data_ptr(),
                               .dweight = gradients.weight.mutable_data_ptr(),
                               .dbias = shape.centred ? gradients.bias.mutable_data_ptr() : nullptr,
                               .workspace = workspace.mutable_data_ptr()},
                              current_cuda_stream());
  return gradients;
}

// LayerNorm of x, plus the residual where there is one.
class LayerNorm : public torch::autograd::Function<LayerNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context,
                               const std::optional<torch::Tensor>& residual, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
    const Normed normed = forward_of(x, weight, bias, residual.value_or(torch::Tensor()), eps);
    context->save_for_backward({x, weight, normed.mean, normed.scale});
    context->saved_data["adds"] = residual.has_value();
    return normed.y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const auto saved = context->get_saved_variables();
    const auto dy = grad_outputs[0].contiguous();
    const auto gradients = backward_of(saved[0], saved[1], saved[2], saved[3], dy, {});
    const bool adds = context->saved_data["adds"].toBool();
    return {adds ? dy : torch::Tensor(), gradients.x, gradients.weight, gradients.bias, {}};
  }
};

class RmsNorm : public torch::autograd::Function<RmsNorm> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, double eps) {
    context->set_materialize_grads(false);
    const Normed normed = forward_of(x, weight, /*bias=*/{}, /*residual=*/{}, eps);
    context->save_for_backward({x, weight, normed.scale});
    return {normed.y, x};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    if (!grad_outputs[0].defined()) return {grad_outputs[1], {}, {}};
    const auto saved = context->get_saved_variables();
    const auto input_gradient =
        grad_outputs[1].defined() ? grad_outputs[1].contiguous() : grad_outputs[1];
    const auto gradients = backward_of(saved[0], saved[1], /*mean=*/{}, saved[2],
                                       grad_outputs[0].contiguous(), input_gradient);
    return {gradients.x, gradients.weight, {}};
  }
};

}  // namespace

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps) {
  return LayerNorm::apply(/*residual=*/std::nullopt, x.contiguous(), weight, bias, eps);
}

torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
  require(residual.sizes() == x.sizes() && residual.scalar_type() == x.scalar_type(),
          "add_layer_norm: residual {} {} and input {} {}; must have one shape and type",
          c10::toString(residual.scalar_type()), c10::str(residual.sizes()),
          c10::toString(x.scalar_type()), c10::str(x.sizes()));
  return LayerNorm::apply(residual.contiguous(), x.contiguous(), weight, bias, eps);
}

OutputAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  const auto both = RmsNorm::apply(x.contiguous(), weight, eps);
  return {both[0], both[1]};
}

}  // namespace kernel

bool has_norm_kernel(const torch::Tensor& x, const torch::Tensor& weight) {
  return is_fp32_or_bf16_on_cuda(x) && weight.scalar_type() == x.scalar_type();
}

}  // namespace convseq::ops
