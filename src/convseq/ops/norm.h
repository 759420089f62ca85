#pragma once

#include "convseq/ops/output_and_input.h"

namespace convseq::ops {

// Over the last dimension, with statistics and sums of gradients in fp32; the formulas are in
// ops/reference/norm.h.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

// residual + layer_norm(x), on a GPU in one pass per direction.
torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps);

// On a GPU the gradient of `input` is added in the backward pass of the norm.
OutputAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace convseq::ops
