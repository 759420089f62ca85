#include "convseq/ops/linear.h"

#include "convseq/kernels/matmul.h"
#include "convseq/ops/kernel/linear.h"
#include "convseq/ops/norm.h"
#include "convseq/ops/reference/linear.h"

namespace convseq::ops {

OutputAndInput linear_and_input(const torch::Tensor& x, const torch::Tensor& weight) {
  if (has_linear_kernel(x, weight)) return kernel::linear_and_input(x, weight);
  return {reference::linear(x, weight), x};
}

OutputAndInput relu_feed_forward_and_input(const torch::Tensor& x, const torch::Tensor& up,
                                           const torch::Tensor& down) {
  if (has_linear_kernel(x, up) && has_linear_kernel(x, down)) {
    return kernel::relu_feed_forward_and_input(x, up, down);
  }
  return {reference::relu_feed_forward(x, up, down), x};
}

torch::Tensor add_linear(const torch::Tensor& residual, const torch::Tensor& x,
                         const torch::Tensor& weight) {
  if (has_add_linear_kernel(residual, x, weight)) return kernel::add_linear(residual, x, weight);
  return residual + reference::linear(x, weight);
}

torch::Tensor add_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                    const torch::Tensor& up, const torch::Tensor& down) {
  if (has_linear_kernel(x, up) && has_add_linear_kernel(residual, x, down)) {
    return kernel::add_relu_feed_forward(residual, x, up, down);
  }
  return residual + reference::relu_feed_forward(x, up, down);
}

torch::Tensor add_normed_linear(const torch::Tensor& residual, const torch::Tensor& x,
                                const torch::Tensor& weight, const LayerNormParameters& norm) {
  if (has_add_normed_linear_kernel(residual, x, weight, norm)) {
    return kernel::add_normed_linear(residual, x, weight, norm);
  }
  return add_layer_norm(residual, linear_and_input(x, weight).output, norm.weight, norm.bias,
                        norm.eps);
}

torch::Tensor add_normed_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                           const torch::Tensor& up, const torch::Tensor& down,
                                           const LayerNormParameters& norm) {
  if (has_linear_kernel(x, up) && has_add_normed_linear_kernel(residual, x, down, norm)) {
    return kernel::add_normed_relu_feed_forward(residual, x, up, down, norm);
  }
  return add_layer_norm(residual, relu_feed_forward_and_input(x, up, down).output, norm.weight,
                        norm.bias, norm.eps);
}

MatmulTuning::MatmulTuning() { kernels::tune_matmuls(true); }
MatmulTuning::~MatmulTuning() { kernels::tune_matmuls(false); }

}  // namespace convseq::ops
