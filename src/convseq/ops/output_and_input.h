#pragma once

#include <torch/types.h>

namespace convseq::ops {

// The result of an op that can add other gradients of its input to its own in the backward pass:
// whoever else reads the input should read `input` instead, so that summing the gradients costs no
// extra pass.
struct OutputAndInput {
  torch::Tensor output;
  torch::Tensor input;  // the same values
};

}  // namespace convseq::ops
