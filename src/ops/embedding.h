#pragma once

#include "ops/output_and_input.h"

namespace convseq::ops {

// Rows of a table [rows,C] by their ids [...] -> [...,C]; what comes back to `input`, the table
// handed on, is added where the rows' gradient is. On a GPU the gradient is made in a fixed order.
OutputAndInput embedding_and_table(const torch::Tensor& table, const torch::Tensor& ids);

}  // namespace convseq::ops
