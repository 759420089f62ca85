#pragma once

#include <torch/types.h>

namespace convseq::ops::reference {

// Over the last dimension, in fp32 or float64 inside:
//   y = (x − mean(x)) / sqrt(variance(x) + eps) ⊙ weight + bias
torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
//   y = x / sqrt(mean(x²) + eps) ⊙ weight
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace convseq::ops::reference
