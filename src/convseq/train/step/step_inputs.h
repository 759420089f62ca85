#pragma once

#include <vector>

#include "convseq/train/step/model_batch.h"

namespace convseq {

// All that differs from one training step to the next.
struct StepInputs {
  std::vector<ModelBatch> batches = {};  // micro-batches
  torch::Tensor total_weight = {};       // of all real targets of all processes, float64
  torch::Tensor numbers = {};            // the optimizer's, of this step

  StepInputs on(torch::Device device) const;
  StepInputs pinned() const;                // in memory that a GPU copies from asynchronously
  void copy_from(const StepInputs& other);  // of the same shape, pinned: does not wait
  std::vector<int64_t> shape() const;       // equal: one captured step serves both
};

}  // namespace convseq
