#pragma once

#include "convseq/ops/output_and_input.h"

namespace convseq::ops {

// x Wᵀ, W [out,in]. On a GPU the gradient of `input` is added in the epilogue of the backward
// matmul.
OutputAndInput linear_and_input(const torch::Tensor& x, const torch::Tensor& weight);

// relu(x W_upᵀ) W_downᵀ. On a GPU the relu is computed in the matmul's epilogue, and where the
// build and the GPU have such an epilogue its backward too.
OutputAndInput relu_feed_forward_and_input(const torch::Tensor& x, const torch::Tensor& up,
                                           const torch::Tensor& down);

// residual + x Wᵀ, and residual + relu(x W_upᵀ) W_downᵀ: for inference. On a GPU the residual is
// added in the epilogue of the last matmul.
torch::Tensor add_linear(const torch::Tensor& residual, const torch::Tensor& x,
                         const torch::Tensor& weight);
torch::Tensor add_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                    const torch::Tensor& up, const torch::Tensor& down);

struct LayerNormParameters {
  torch::Tensor weight = {}, bias = {};
  double eps = 0;
};

// residual + LayerNorm(x Wᵀ), and residual + LayerNorm(relu(x W_upᵀ) W_downᵀ): for inference. On a
// GPU few rows are normalised in the epilogue of the last matmul.
torch::Tensor add_normed_linear(const torch::Tensor& residual, const torch::Tensor& x,
                                const torch::Tensor& weight, const LayerNormParameters& norm);
torch::Tensor add_normed_relu_feed_forward(const torch::Tensor& residual, const torch::Tensor& x,
                                           const torch::Tensor& up, const torch::Tensor& down,
                                           const LayerNormParameters& norm);

// While an instance lives, matmuls of a new size are timed with several algorithms, and the fastest
// is kept for the rest of the process: for work that repeats.
class MatmulTuning {
 public:
  MatmulTuning();
  ~MatmulTuning();
  MatmulTuning(const MatmulTuning&) = delete;
  MatmulTuning& operator=(const MatmulTuning&) = delete;
};

}  // namespace convseq::ops
