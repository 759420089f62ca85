#include "convseq/ops/reference/norm.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/ops/double_backward.h"
#include "convseq/ops/reference/precision.h"

namespace convseq::ops::reference {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor fp32(const torch::Tensor& x) { return x.to(torch::kFloat32); }

class Fp32SumLayerNorm : public torch::autograd::Function<Fp32SumLayerNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, const torch::Tensor& bias, double eps) {
    const auto [y, mean, scale] =
        at::native_layer_norm(fp32(x), {x.size(-1)}, fp32(weight), fp32(bias), eps);
    context->save_for_backward({x, weight, bias, mean, scale});
    return y.to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    refuse_double_backward("norm");
    const auto saved = context->get_saved_variables();
    const auto& x = saved[0];
    const auto [dx, dweight, dbias] = at::native_layer_norm_backward(
        fp32(grad_outputs[0]), fp32(x), {x.size(-1)}, saved[3], saved[4], fp32(saved[1]),
        fp32(saved[2]), {true, true, true});
    const auto type = x.scalar_type();
    return {dx.to(type), dweight.to(type), dbias.to(type), {}};
  }
};

// y = n ⊙ w with n = x / sqrt(mean(x²) + eps);  with h = dy ⊙ w:
//   dw = Σ dy ⊙ n,  dx = (h − n mean(h ⊙ n)) / sqrt(mean(x²) + eps)
class Fp32SumRmsNorm : public torch::autograd::Function<Fp32SumRmsNorm> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight, double eps) {
    const auto values = fp32(x);
    const auto scale = torch::rsqrt(values.square().mean(-1, /*keepdim=*/true) + eps);
    context->save_for_backward({x, weight, scale});
    return (values * scale * weight).to(x.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    refuse_double_backward("norm");
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &scale = saved[2];
    const auto dy = fp32(grad_outputs[0]), normed = fp32(x) * scale, h = dy * weight;
    const auto dx = (h - normed * (h * normed).mean(-1, /*keepdim=*/true)) * scale;
    const auto dweight = (dy * normed).flatten(0, -2).sum(0);
    return {dx.to(x.scalar_type()), dweight.to(weight.scalar_type()), {}};
  }
};

}  // namespace

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps) {
  if (needs_fp32_sums(x)) return Fp32SumLayerNorm::apply(x, weight, bias, eps);
  return torch::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps) {
  if (needs_fp32_sums(x)) return Fp32SumRmsNorm::apply(x, weight, eps);
  const auto values = x.to(accumulate_type(x));
  const auto scale = torch::rsqrt(values.square().mean(-1, true) + eps);
  return (values * scale * weight).to(x.scalar_type());
}

}  // namespace convseq::ops::reference
