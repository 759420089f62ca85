#pragma once

#include <torch/types.h>

namespace convseq::ops {

// Rows of a table [rows,C] by their ids [...] -> [...,C]. The gradient is summed in fp32 for bf16,
// on a GPU in a fixed order.
torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids);

}  // namespace convseq::ops
