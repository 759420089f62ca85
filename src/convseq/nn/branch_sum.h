#pragma once

#include "convseq/ops/linear.h"

namespace convseq::nn {

// What the last matmul of a branch adds its output to in a step of inference: residual + x Wᵀ, or
// residual + LayerNorm(x Wᵀ).
struct BranchSum {
  torch::Tensor residual = {};         // undefined: the output is x Wᵀ
  ops::LayerNormParameters norm = {};  // undefined: none
};

}  // namespace convseq::nn
