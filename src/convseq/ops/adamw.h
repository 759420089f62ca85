#pragma once

#include <torch/types.h>

#include <vector>

#include "convseq/kernels/adamw.h"

namespace convseq::ops {

struct AdamWTensors {
  torch::Tensor parameter;   // fp32 or float64
  torch::Tensor gradient;    // the parameter's type; fp32 parameters on a GPU also take bf16
  torch::Tensor exp_avg;     // running averages of the gradient and of its square,
  torch::Tensor exp_avg_sq;  // both of the parameter's type
  torch::Tensor copy;        // bf16, set to the new value; undefined: none
  bool decays = false;
};

// Clips the gradients to a norm of options.max_norm and updates all tensors, or none where the norm
// or `loss` (a float64 scalar) is not finite; the formulas are in ops/reference/adamw.h. `step`
// [3] float64 is a kernels::AdamWStep. Returns the norm before clipping, a float64 scalar. The
// kernel decides everything on the device, without synchronising with the host.
torch::Tensor adamw(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                    const torch::Tensor& step, const torch::Tensor& loss);

}  // namespace convseq::ops
