#include "convseq/ops/kernel/linear.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/kernels/matmul.h"
#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/cuda_launch.h"
#include "convseq/ops/norm.h"

namespace convseq::ops {
namespace {

constexpr int64_t kAligned = 8;  // bf16 values in the 16 bytes that fast matmuls load at once

}  // namespace

namespace kernel {
namespace {

using kernels::Epilogue;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

int64_t aligned(int64_t width) { return (width + kAligned - 1) / kAligned * kAligned; }

// [..., width] as a matrix whose rows are one stride apart.
torch::Tensor as_rows(const torch::Tensor& x) {
  const auto rows = x.dim() == 2 ? x : x.flatten(0, -2);
  const bool fits = rows.stride(1) == 1 && rows.stride(0) >= rows.size(1);
  return fits ? rows : rows.contiguous();
}

kernels::Matrix matrix(const torch::Tensor& rows) {
  return {.values = rows.const_data_ptr(), .stride = rows.stride(0)};
}

kernels::Matrix transpose_of(const torch::Tensor& rows) {
  return {.values = rows.const_data_ptr(), .stride = rows.stride(0), .transposed = true};
}

void set_output(kernels::Matmul& matmul, const torch::Tensor& out) {
  matmul.out = out.mutable_data_ptr();
  matmul.out_stride = out.stride(-2);
}

// `matmul` holds sizes and operands; this adds output, addend and workspace.
void run(kernels::Matmul matmul, const torch::Tensor& out, const torch::Tensor& addend = {}) {
  const c10::DeviceGuard guard(out.device());
  const auto bytes = static_cast<int64_t>(kernels::matmul_workspace_bytes());
  const auto workspace = torch::empty({bytes}, out.options().dtype(torch::kUInt8));
  set_output(matmul, out);
  if (addend.defined()) matmul.c = addend.const_data_ptr();
  matmul.workspace = workspace.mutable_data_ptr();
  matmul.workspace_bytes = static_cast<size_t>(bytes);
  matmul.constant_b = !torch::GradMode::is_enabled();
  kernels::matmul_cuda(matmul, current_cuda_stream());
}

// As many rows as x has, of `width` values each, aligned to 16 bytes.
torch::Tensor empty_rows(const torch::Tensor& x, int64_t width) {
  std::vector<int64_t> sizes = x.sizes().vec(), strides(sizes.size(), 1);
  sizes.back() = width;
  int64_t stride = aligned(width);
  for (size_t i = sizes.size() - 1; i-- > 0; stride *= sizes[i]) strides[i] = stride;
  return torch::empty_strided(sizes, strides, x.options());
}

// x Wᵀ (+ addend)
torch::Tensor times_transpose(const torch::Tensor& x, const torch::Tensor& weight,
                              Epilogue epilogue = Epilogue::Plain,
                              const torch::Tensor& addend = {}) {
  const auto rows = as_rows(x);
  const auto out = empty_rows(x, weight.size(0));
  run({.rows = rows.size(0),
       .columns = weight.size(0),
       .inner = weight.size(1),
       .epilogue = epilogue,
       .a = matrix(rows),
       .b = transpose_of(weight)},
      out, addend);
  return out;
}

// dy W (+ addend)
torch::Tensor times(const torch::Tensor& dy, const torch::Tensor& weight,
                    const torch::Tensor& addend = {}) {
  const auto rows = as_rows(dy);
  const auto out = empty_rows(dy, weight.size(1));
  run({.rows = rows.size(0),
       .columns = weight.size(1),
       .inner = weight.size(0),
       .a = matrix(rows),
       .b = matrix(weight)},
      out, addend.defined() ? addend.contiguous() : addend);
  return out;
}

// dy W where relu's output is positive, 0 elsewhere: the gradient of relu's input. `relu_output`
// comes from times_transpose().
torch::Tensor relu_backward_times(const torch::Tensor& dy, const torch::Tensor& weight,
                                  const torch::Tensor& relu_output) {
  const auto rows = as_rows(dy);
  auto out = empty_rows(dy, weight.size(1));
  kernels::Matmul matmul{.rows = rows.size(0),
                         .columns = weight.size(1),
                         .inner = weight.size(0),
                         .epilogue = Epilogue::ReluBackward,
                         .a = matrix(rows),
                         .b = matrix(weight),
                         .c = relu_output.const_data_ptr()};
  set_output(matmul, out);
  const c10::DeviceGuard guard(out.device());
  if (kernels::has_relu_backward_epilogue(matmul)) {
    kernels::matmul_cuda(matmul, current_cuda_stream());
    return out;
  }
  // A separate pass over the output: cuBLASLt's own dReLU epilogue selects a matmul kernel that
  // takes three times as long.
  matmul.epilogue = Epilogue::Plain;
  matmul.c = nullptr;
  run(matmul, out);
  return at::threshold_backward_out(out, out, relu_output, 0);
}

// dyᵀ x
torch::Tensor weight_gradient(const torch::Tensor& dy, const torch::Tensor& x) {
  const auto left = as_rows(dy), right = as_rows(x);
  const auto out = torch::empty({left.size(1), right.size(1)}, x.options());
  run({.rows = left.size(1),
       .columns = right.size(1),
       .inner = left.size(0),
       .a = transpose_of(left),
       .b = matrix(right)},
      out);
  return out;
}

class Linear : public torch::autograd::Function<Linear> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& weight) {
    context->set_materialize_grads(false);
    context->save_for_backward({x, weight});
    return {times_transpose(x, weight), x};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    refuse_double_backward("linear", "float32");
    const auto& [dy, input_gradient] = std::tie(grad_outputs[0], grad_outputs[1]);
    if (!dy.defined()) return {input_gradient, {}};
    const auto saved = context->get_saved_variables();
    variable_list grad_inputs(2);
    if (context->needs_input_grad(0)) grad_inputs[0] = times(dy, saved[1], input_gradient);
    if (context->needs_input_grad(1)) grad_inputs[1] = weight_gradient(dy, saved[0]);
    return grad_inputs;
  }
};

class ReluFeedForward : public torch::autograd::Function<ReluFeedForward> {
 public:
  static variable_list forward(AutogradContext* context, const torch::Tensor& x,
                               const torch::Tensor& up, const torch::Tensor& down) {
    context->set_materialize_grads(false);
    const auto hidden = times_transpose(x, up, Epilogue::Relu);
    context->save_for_backward({x, up, down, hidden});
    return {times_transpose(hidden, down), x};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    refuse_double_backward("linear", "float32");
    const auto& [dy, input_gradient] = std::tie(grad_outputs[0], grad_outputs[1]);
    if (!dy.defined()) return {input_gradient, {}, {}};
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &up = saved[1], &down = saved[2], &hidden = saved[3];
    const auto dhidden = relu_backward_times(dy, down, hidden);
    variable_list grad_inputs(3);
    if (context->needs_input_grad(0)) grad_inputs[0] = times(dhidden, up, input_gradient);
    if (context->needs_input_grad(1)) grad_inputs[1] = weight_gradient(dhidden, x);
    if (context->needs_input_grad(2)) grad_inputs[2] = weight_gradient(dy, hidden);
    return grad_inputs;
  }
};

}  // namespace

OutputAndInput linear_and_input(const torch::Tensor& x, const torch::Tensor& weight) {
  const auto both = Linear::apply(x, weight);
  return {both[0], both[1]};
}

OutputAndInput relu_feed_forward_and_input(const torch::Tensor& x, const torch::Tensor& up,
                                           const torch::Tensor& down) {
  const auto both = ReluFeedForward::apply(x, up, down);
  return {both[0], both[1]};
}

torch::Tensor add_linear(const torch::Tensor& residual, const torch::Tensor& x,
                         const torch::Tensor& weight) {
  return times_transpose(x, weight, Epilogue::Plain, residual.contiguous());
}

torch::Tensor add_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                    const torch::Tensor& up, const torch::Tensor& down) {
  return add_linear(residual, times_transpose(x, up, Epilogue::Relu), down);
}

torch::Tensor add_normed_linear(const torch::Tensor& residual, const torch::Tensor& x,
                                const torch::Tensor& weight, const LayerNormParameters& norm) {
  const c10::DeviceGuard guard(x.device());
  const auto rows = as_rows(x), added = residual.contiguous();
  const auto out = empty_rows(x, weight.size(0));
  kernels::Matmul matmul{.rows = rows.size(0),
                         .columns = weight.size(0),
                         .inner = weight.size(1),
                         .a = matrix(rows),
                         .b = transpose_of(weight)};
  set_output(matmul, out);
  if (!kernels::has_matmul_norm(matmul)) {
    return add_layer_norm(residual, times_transpose(x, weight), norm.weight, norm.bias, norm.eps);
  }
  matmul.constant_b = !torch::GradMode::is_enabled();
  kernels::matmul_norm_cuda({.matmul = matmul,
                             .weight = norm.weight.const_data_ptr(),
                             .bias = norm.bias.const_data_ptr(),
                             .residual = added.const_data_ptr(),
                             .eps = static_cast<float>(norm.eps)},
                            current_cuda_stream());
  return out;
}

torch::Tensor add_normed_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                           const torch::Tensor& up, const torch::Tensor& down,
                                           const LayerNormParameters& norm) {
  return kernel::add_normed_linear(residual, times_transpose(x, up, Epilogue::Relu), down, norm);
}

}  // namespace kernel

bool has_add_linear_kernel(const torch::Tensor& residual, const torch::Tensor& x,
                           const torch::Tensor& weight) {
  const bool wants_gradients =
      torch::GradMode::is_enabled() &&
      (residual.requires_grad() || x.requires_grad() || weight.requires_grad());
  return has_linear_kernel(x, weight) && !wants_gradients &&
         residual.scalar_type() == x.scalar_type() && weight.size(0) % kAligned == 0;
}

bool has_add_normed_linear_kernel(const torch::Tensor& residual, const torch::Tensor& x,
                                  const torch::Tensor& weight, const LayerNormParameters& norm) {
  const auto is_row = [&](const torch::Tensor& each) {
    return each.is_contiguous() && each.scalar_type() == x.scalar_type();
  };
  return has_add_linear_kernel(residual, x, weight) && is_row(norm.weight) && is_row(norm.bias);
}

bool has_linear_kernel(const torch::Tensor& x, const torch::Tensor& weight) {
  return x.is_cuda() && kernels::built_with_matmuls() && x.scalar_type() == torch::kBFloat16 &&
         weight.scalar_type() == torch::kBFloat16 && x.numel() > 0 &&
         weight.size(1) % kAligned == 0;
}

}  // namespace convseq::ops
