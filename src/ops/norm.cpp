#include "convseq/ops/norm.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include <optional>

#include "convseq/base/error.h"
#include "convseq/kernels/norm.h"
#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/cuda_launch.h"
#include "convseq/ops/reference/reference.h"

namespace convseq::ops {
namespace {

using kernels::NormShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

bool has_kernel(const torch::Tensor& x, const torch::Tensor& weight) {
  return is_fp32_or_bf16_on_cuda(x) && weight.scalar_type() == x.scalar_type();
}

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

// Of the optional ones `bias` is LayerNorm's; all are contiguous.
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

// `mean` is LayerNorm's; `more` a gradient of x from elsewhere, or undefined.
NormGradients backward_of(const torch::Tensor& x, const torch::Tensor& weight,
                          const torch::Tensor& mean, const torch::Tensor& scale,
                          const torch::Tensor& dy, const torch::Tensor& more) {
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
                               .more = pointer_or_null(more),
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
    const auto more = grad_outputs[1].defined() ? grad_outputs[1].contiguous() : grad_outputs[1];
    const auto gradients =
        backward_of(saved[0], saved[1], /*mean=*/{}, saved[2], grad_outputs[0].contiguous(), more);
    return {gradients.x, gradients.weight, {}};
  }
};

// On a CPU libtorch sums bf16 gradients of weight and bias over the rows in bf16, which loses most
// of them. These two compute in fp32 between bf16 ends, both ways.
bool needs_wide_sums(const torch::Tensor& x) {
  return x.is_cpu() && at::isReducedFloatingType(x.scalar_type());
}

torch::Tensor wide(const torch::Tensor& x) { return x.to(torch::kFloat32); }

class WideLayerNorm : public torch::autograd::Function<WideLayerNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
    const auto [y, mean, scale] =
        at::native_layer_norm(wide(x), {x.size(-1)}, wide(weight), wide(bias), eps);
    context->save_for_backward({x, weight, bias, mean, scale});
    return y.to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    refuse_double_backward("norm");
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto [dx, dweight, dbias] = at::native_layer_norm_backward(
        wide(grad_outputs[0]), wide(x), {x.size(-1)}, saved[3], saved[4], wide(saved[1]),
        wide(saved[2]), {true, true, true});
    const auto type = x.scalar_type();
    return {dx.to(type), dweight.to(type), dbias.to(type), {}};
  }
};

// y = n ⊙ w with n = x / sqrt(mean(x²) + eps);  with h = dy ⊙ w:
//   dw = Σ dy ⊙ n,  dx = (h − n mean(h ⊙ n)) / sqrt(mean(x²) + eps)
class WideRmsNorm : public torch::autograd::Function<WideRmsNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, double eps) {
    const auto values = wide(x);
    const auto scale = torch::rsqrt(values.square().mean(-1, /*keepdim=*/true) + eps);
    context->save_for_backward({x, weight, scale});
    return (values * scale * weight).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    refuse_double_backward("norm");
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &scale = saved[2];
    const auto dy = wide(grad_outputs[0]), normed = wide(x) * scale, h = dy * weight;
    const auto dx = (h - normed * (h * normed).mean(-1, /*keepdim=*/true)) * scale;
    const auto dweight = (dy * normed).flatten(0, -2).sum(0);
    return {dx.to(x.scalar_type()), dweight.to(weight.scalar_type()), {}};
  }
};

}  // namespace

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps) {
  if (needs_wide_sums(x)) return WideLayerNorm::apply(x, weight, bias, eps);
  if (!has_kernel(x, weight)) return torch::layer_norm(x, {x.size(-1)}, weight, bias, eps);
  return LayerNorm::apply(/*residual=*/std::nullopt, x.contiguous(), weight, bias, eps);
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  return rms_norm_and_input(x, weight, eps).output;
}

torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
  if (!has_kernel(x, weight)) return residual + layer_norm(x, weight, bias, eps);
  require(residual.sizes() == x.sizes() && residual.scalar_type() == x.scalar_type(),
          "add_layer_norm: the residual differs in shape or type from what is normed");
  return LayerNorm::apply(residual.contiguous(), x.contiguous(), weight, bias, eps);
}

OutputAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  if (needs_wide_sums(x)) return {WideRmsNorm::apply(x, weight, eps), x};
  if (!has_kernel(x, weight)) return {reference::rms_norm(x, weight, eps), x};
  const auto both = RmsNorm::apply(x.contiguous(), weight, eps);
  return {both[0], both[1]};
}

}  // namespace convseq::ops
