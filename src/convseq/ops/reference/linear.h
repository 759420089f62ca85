#pragma once

#include <torch/types.h>

namespace convseq::ops::reference {

// x Wᵀ, W [out,in].
torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight);

// relu(x W_upᵀ) W_downᵀ
torch::Tensor relu_feed_forward(const torch::Tensor& x, const torch::Tensor& up,
                                const torch::Tensor& down);

}  // namespace convseq::ops::reference
