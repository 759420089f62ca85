#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "convseq/nn/stream.h"

namespace convseq::nn {

using Inputs = std::vector<Stream>;  // undefined ones are allowed

// block(inputs), of which only the inputs are kept for the backward pass: there the block is
// computed again, with the same random numbers. About a third more time, a fraction of the memory.
// The parameters' gradients are added by a backward pass within the backward pass.
torch::Tensor recompute(std::function<torch::Tensor(const Inputs&)> block, const Inputs& inputs);

}  // namespace convseq::nn
