#pragma once

#include "convseq/ops/kernel/output_and_input.h"

namespace convseq::ops {

// x Wᵀ, W [out,in]; what comes back to `input` is added inside the backward matmul.
OutputAndInput linear_and_input(const torch::Tensor& x, const torch::Tensor& weight);

// relu(x W_upᵀ) W_downᵀ; the relu has no pass of its own, where the build and the GPU can do so on
// the way back too.
OutputAndInput relu_feed_forward_and_input(const torch::Tensor& x, const torch::Tensor& up,
                                           const torch::Tensor& down);

// While it lives, matmuls of a new size are tried in several ways, and the fastest is kept for the
// rest of the process: for work that comes again and again.
class MatmulTuning {
 public:
  MatmulTuning();
  ~MatmulTuning();
  MatmulTuning(const MatmulTuning&) = delete;
  MatmulTuning& operator=(const MatmulTuning&) = delete;
};

}  // namespace convseq::ops
