#pragma once

#include <torch/types.h>

namespace convseq::ops::reference {

// Rows of a table [rows,C] by ids [...] -> [...,C]; the gradient of bf16 rows is summed in fp32.
torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids);

}  // namespace convseq::ops::reference
