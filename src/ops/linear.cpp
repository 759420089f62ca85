#include "convseq/ops/linear.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/kernels/matmul.h"
#include "convseq/ops/double_backward.h"
#include "convseq/ops/kernel/cuda_launch.h"

namespace convseq::ops {
namespace {

using kernels::Epilogue;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kAligned = 8;  // bf16 values in the 16 bytes that fast matmuls read at once

int64_t aligned(int64_t width) { return (width + kAligned - 1) / kAligned * kAligned; }

bool has_kernel(const torch::Tensor& x, const torch::Tensor& weight) {
  return x.is_cuda() && kernels::built_with_matmuls() && x.scalar_type() == torch::kBFloat16 &&
         weight.scalar_type() == torch::kBFloat16 && x.numel() > 0 &&
         weight.size(1) % kAligned == 0;
}

// [..., width] as rows, one after another at one distance.
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

void put(kernels::Matmul& matmul, const torch::Tensor& out) {
  matmul.out = out.mutable_data_ptr();
  matmul.out_stride = out.stride(-2);
}

// `matmul` knows its sizes and factors; the rest is given here.
void run(kernels::Matmul matmul, const torch::Tensor& out, const torch::Tensor& add = {}) {
  const c10::DeviceGuard guard(out.device());
  const auto bytes = static_cast<int64_t>(kernels::matmul_workspace_bytes());
  const auto workspace = torch::empty({bytes}, out.options().dtype(torch::kUInt8));
  put(matmul, out);
  if (add.defined()) matmul.other = add.const_data_ptr();
  matmul.workspace = workspace.mutable_data_ptr();
  matmul.workspace_bytes = static_cast<size_t>(bytes);
  kernels::matmul_cuda(matmul, current_cuda_stream());
}

// Rows of the same number as x's and of `width` values, each row beginning at a 16-byte boundary.
torch::Tensor empty_rows(const torch::Tensor& x, int64_t width) {
  std::vector<int64_t> sizes = x.sizes().vec(), strides(sizes.size(), 1);
  sizes.back() = width;
  int64_t stride = aligned(width);
  for (size_t i = sizes.size() - 1; i-- > 0; stride *= sizes[i]) strides[i] = stride;
  return torch::empty_strided(sizes, strides, x.options());
}

// x Wᵀ
torch::Tensor times_transpose(const torch::Tensor& x, const torch::Tensor& weight,
                              Epilogue epilogue = Epilogue::Plain) {
  const auto rows = as_rows(x);
  const auto out = empty_rows(x, weight.size(0));
  run({.rows = rows.size(0),
       .columns = weight.size(0),
       .inner = weight.size(1),
       .epilogue = epilogue,
       .a = matrix(rows),
       .b = transpose_of(weight)},
      out);
  return out;
}

// dy W (+ add)
torch::Tensor times(const torch::Tensor& dy, const torch::Tensor& weight,
                    const torch::Tensor& add = {}) {
  const auto rows = as_rows(dy);
  const auto out = empty_rows(dy, weight.size(1));
  run({.rows = rows.size(0),
       .columns = weight.size(1),
       .inner = weight.size(0),
       .a = matrix(rows),
       .b = matrix(weight)},
      out, add.defined() ? add.contiguous() : add);
  return out;
}

// dy W where `gate` is positive, 0 elsewhere; `gate` comes from times_transpose().
torch::Tensor gated_times(const torch::Tensor& dy, const torch::Tensor& weight,
                          const torch::Tensor& gate) {
  const auto rows = as_rows(dy);
  auto out = empty_rows(dy, weight.size(1));
  kernels::Matmul matmul{.rows = rows.size(0),
                         .columns = weight.size(1),
                         .inner = weight.size(0),
                         .epilogue = Epilogue::Gated,
                         .a = matrix(rows),
                         .b = matrix(weight),
                         .other = gate.const_data_ptr()};
  put(matmul, out);
  const c10::DeviceGuard guard(out.device());
  if (kernels::can_gate(matmul)) {
    kernels::matmul_cuda(matmul, current_cuda_stream());
    return out;
  }
  // A pass of its own. cuBLASLt's epilogue for it is a kernel apart that takes three times as long.
  matmul.epilogue = Epilogue::Plain;
  matmul.other = nullptr;
  run(matmul, out);
  return at::threshold_backward_out(out, out, gate, 0);
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
    const auto& [dy, more] = std::tie(grad_outputs[0], grad_outputs[1]);
    if (!dy.defined()) return {more, {}};
    const auto saved = context->get_saved_variables();
    variable_list grad_inputs(2);
    if (context->needs_input_grad(0)) grad_inputs[0] = times(dy, saved[1], more);
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
    const auto& [dy, more] = std::tie(grad_outputs[0], grad_outputs[1]);
    if (!dy.defined()) return {more, {}, {}};
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &up = saved[1], &down = saved[2], &hidden = saved[3];
    const auto dhidden = gated_times(dy, down, hidden);
    variable_list grad_inputs(3);
    if (context->needs_input_grad(0)) grad_inputs[0] = times(dhidden, up, more);
    if (context->needs_input_grad(1)) grad_inputs[1] = weight_gradient(dhidden, x);
    if (context->needs_input_grad(2)) grad_inputs[2] = weight_gradient(dy, hidden);
    return grad_inputs;
  }
};

}  // namespace

MatmulTuning::MatmulTuning() { kernels::tune_matmuls(true); }
MatmulTuning::~MatmulTuning() { kernels::tune_matmuls(false); }

OutputAndInput linear_and_input(const torch::Tensor& x, const torch::Tensor& weight) {
  if (!has_kernel(x, weight)) return {at::linear(x, weight), x};
  const auto both = Linear::apply(x, weight);
  return {both[0], both[1]};
}

OutputAndInput relu_feed_forward_and_input(const torch::Tensor& x, const torch::Tensor& up,
                                           const torch::Tensor& down) {
  if (!has_kernel(x, up) || !has_kernel(x, down)) {
    return {at::linear(at::relu(at::linear(x, up)), down), x};
  }
  const auto both = ReluFeedForward::apply(x, up, down);
  return {both[0], both[1]};
}

}  // namespace convseq::ops
