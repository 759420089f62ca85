#pragma once

#include "convseq/ops/adamw.h"

namespace convseq::ops::reference {

// With the norm n of all gradients together, c = min(1, max_norm / n) and g the clipped gradient
// c·g:
//   m = β1 m + (1 − β1) g,  v = β2 v + (1 − β2) g²
//   p = p − lr·decay·p − lr·scale · m/(1 − β1ᵗ) / (sqrt(v/(1 − β2ᵗ)) + eps)
// where scale is max(1e-3, RMS(p)) with options.scale_by_rms, else 1.
torch::Tensor adamw(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                    const torch::Tensor& step, const torch::Tensor& loss);

// The update alone, for gradients that were clipped before.
void adamw_update(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                  const kernels::AdamWStep& step);

}  // namespace convseq::ops::reference
