#pragma once

#include <torch/types.h>

#include <string>

#include "convseq/bench/training_model.h"

namespace convseq::bench {

inline constexpr double kGibi = 1 << 30;

// Throws before anything is allocated if the device cannot hold it: more than the free memory of a
// CPU, the whole memory of a GPU, or `limit` bytes if that is more than 0.
void require_device_memory(torch::Device device, double bytes, const std::string& what,
                           double limit);

// The same for training with this many source tokens per step. On a GPU the step itself fails.
void require_step_memory(const ModelConfig& config, const TrainingModelOptions& options,
                         const RandomBatchOptions& batch, const std::string& what);

}  // namespace convseq::bench
