#pragma once

#include <torch/types.h>

namespace convseq::ops {

// Rows of a table [rows,C] by their ids [...] -> [...,C]. On a GPU the gradient is made in a fixed
// order.
torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids);

}  // namespace convseq::ops
