#pragma once

#include "convseq/ops/adamw.h"

namespace convseq::ops {

// fp32 on a GPU.
bool has_adamw_kernel(const torch::Tensor& parameter);

namespace kernel {

// kernels/adamw.h, without waiting for the GPU.
torch::Tensor adamw(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                    const torch::Tensor& step, const torch::Tensor& loss);

}  // namespace kernel
}  // namespace convseq::ops
