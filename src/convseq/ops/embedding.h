#pragma once

#include <torch/types.h>

namespace convseq::ops {

// Rows of a table [rows,C] by ids [...] -> [...,C]. The gradient of bf16 rows is summed in fp32; on
// a GPU all sums have a fixed order.
torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids);

}  // namespace convseq::ops
