#pragma once

#include "convseq/ops/linear.h"

namespace convseq::ops {

// bf16 on a GPU, with rows of weights that are multiples of 16 bytes.
bool has_linear_kernel(const torch::Tensor& x, const torch::Tensor& weight);

// The same with a residual to add, without gradients.
bool has_add_linear_kernel(const torch::Tensor& residual, const torch::Tensor& x,
                           const torch::Tensor& weight);

// The same with a LayerNorm before the residual. Whether both are one kernel depends on the sizes.
bool has_add_normed_linear_kernel(const torch::Tensor& residual, const torch::Tensor& x,
                                  const torch::Tensor& weight, const LayerNormParameters& norm);

// kernels/matmul.h, forward and backward.
namespace kernel {

OutputAndInput linear_and_input(const torch::Tensor& x, const torch::Tensor& weight);
OutputAndInput relu_feed_forward_and_input(const torch::Tensor& x, const torch::Tensor& up,
                                           const torch::Tensor& down);

torch::Tensor add_linear(const torch::Tensor& residual, const torch::Tensor& x,
                         const torch::Tensor& weight);
torch::Tensor add_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                    const torch::Tensor& up, const torch::Tensor& down);

torch::Tensor add_normed_linear(const torch::Tensor& residual, const torch::Tensor& x,
                                const torch::Tensor& weight, const LayerNormParameters& norm);
torch::Tensor add_normed_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                           const torch::Tensor& up, const torch::Tensor& down,
                                           const LayerNormParameters& norm);

}  // namespace kernel
}  // namespace convseq::ops
