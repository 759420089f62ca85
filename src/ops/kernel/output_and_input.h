#pragma once

#include <torch/types.h>

namespace convseq::ops {

// What an op gives that can add up gradients of its input on its way back: where the input has
// other uses, let them have `input`, and their gradient costs no pass of its own.
struct OutputAndInput {
  torch::Tensor output;
  torch::Tensor input;  // the same values
};

}  // namespace convseq::ops
