#pragma once

#include <torch/types.h>

#include <string>

#include "convseq/bench/training_model.h"

namespace convseq::bench {

// Refuses what a device cannot hold, before anything is allocated: a CPU's free memory, a GPU's
// whole memory, or `limit` bytes where that is more than 0.
void require_device_memory(torch::Device device, double bytes, const std::string& what,
                           double limit);

// The same for training with this many source tokens a step. On a GPU the step itself finds out.
void require_step_memory(const ModelConfig& config, const TrainingModelOptions& options,
                         const RandomBatchOptions& batch, const std::string& what);

}  // namespace convseq::bench
