#pragma once

#include <torch/types.h>

namespace convseq::ops {

// Over the last dimension, statistics in fp32; meaning as in ops/reference.h.
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace convseq::ops
