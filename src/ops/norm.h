#pragma once

#include <torch/types.h>

namespace convseq::ops {

// Over the last dimension, statistics in fp32; meaning as in ops/reference.h.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

// residual + layer_norm(x): one pass each way on a GPU.
torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps);

// rms_norm(x), and x itself for what goes past the branch: on a GPU their gradients then join in
// one pass.
struct NormAndInput {
  torch::Tensor normed;
  torch::Tensor input;
};
NormAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace convseq::ops
