#pragma once

#include <torch/types.h>

#include <vector>

#include "convseq/kernels/adamw.h"

namespace convseq::ops {

struct AdamWTensors {
  torch::Tensor value;     // fp32, as mean and square
  torch::Tensor gradient;  // fp32 or bf16
  torch::Tensor mean;
  torch::Tensor square;
  torch::Tensor copy;  // bf16, becomes the new value; undefined: none
  bool decays = false;
};

bool has_adamw(const torch::Tensor& value);  // a GPU's fp32

// kernels/adamw.h on a GPU, without waiting for it: clips, then moves all tensors, or none where
// the norm of the gradients or `loss` (a float64 scalar) is not finite. `step` [3] float64 on the
// device is an AdamWStep. Returns the norm, a float64 scalar on the device.
torch::Tensor adamw(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                    const torch::Tensor& step, const torch::Tensor& loss);

}  // namespace convseq::ops
