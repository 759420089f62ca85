#pragma once

#include <torch/types.h>

#include <functional>
#include <vector>

#include "convseq/nn/stream.h"

namespace convseq::nn {

using Inputs = std::vector<Stream>;  // undefined ones are allowed

// Activation checkpointing: computes block(inputs) and keeps only the inputs. The backward pass
// computes the block again, with the same random numbers, and runs a nested backward pass that adds
// the parameters' gradients. This takes about a third more time and a fraction of the memory.
torch::Tensor recompute(std::function<torch::Tensor(const Inputs&)> block, const Inputs& inputs);

}  // namespace convseq::nn
