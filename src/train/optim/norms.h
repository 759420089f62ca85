#pragma once

#include <torch/types.h>

namespace convseq {

// Of each tensor, [n], in a few launches whatever n is.
torch::Tensor norms(torch::TensorList tensors);              // sqrt(Σ x²)
torch::Tensor root_mean_squares(torch::TensorList tensors);  // sqrt(mean x²)

// max(1e-3, RMS): what Adafactor and nanoT5's AdamW take for the size of a parameter, so that one
// learning rate suits all and a parameter that begins at zero still moves.
torch::Tensor parameter_sizes(torch::TensorList parameters);

}  // namespace convseq
