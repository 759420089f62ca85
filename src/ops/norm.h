#pragma once

#include "convseq/ops/kernel/output_and_input.h"

namespace convseq::ops {

// Over the last dimension, statistics and the sums of gradients in fp32; meaning as in
// ops/reference.h.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

// residual + layer_norm(x): one pass each way on a GPU.
torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps);

// On a GPU, what comes back to `input` is added in the norm's own backward pass.
OutputAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace convseq::ops
