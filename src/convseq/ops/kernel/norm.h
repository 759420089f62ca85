#pragma once

#include "convseq/ops/norm.h"

namespace convseq::ops {

// fp32 or bf16 on a GPU.
bool has_norm_kernel(const torch::Tensor& x, const torch::Tensor& weight);

// kernels/norm.h, forward and backward.
namespace kernel {

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
torch::Tensor add_layer_norm(const torch::Tensor& residual, const torch::Tensor& x,
                             const torch::Tensor& weight, const torch::Tensor& bias, double eps);
OutputAndInput rms_norm_and_input(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace kernel
}  // namespace convseq::ops
