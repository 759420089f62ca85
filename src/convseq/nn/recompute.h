#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "convseq/nn/stream.h"

namespace convseq::nn {

using Inputs = std::vector<Stream>;  // may be undefined

// Activation checkpointing: computes block(inputs) and keeps only the inputs. The backward pass
// computes the block again, with the same random numbers, and runs a nested backward pass that adds
// the parameters' gradients. Training takes about a third more time and a fraction of the
// activation memory.
torch::Tensor recompute(std::function<torch::Tensor(const Inputs&)> block, const Inputs& inputs);

}  // namespace convseq::nn
