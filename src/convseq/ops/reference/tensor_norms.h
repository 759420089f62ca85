#pragma once

#include <torch/types.h>

namespace convseq::ops {

// One value per tensor, [n], in a few launches whatever n is.
torch::Tensor norms(torch::TensorList tensors);              // sqrt(Σ x²)
torch::Tensor root_mean_squares(torch::TensorList tensors);  // sqrt(mean x²)

// max(1e-3, RMS), by which Adafactor and nanoT5's AdamW multiply the update of a parameter: one
// learning rate suits all of them, and a parameter that starts at zero is still updated.
torch::Tensor parameter_scales(torch::TensorList parameters);

}  // namespace convseq::ops
