#pragma once

#include <vector>

#include "convseq/ops/graph/graph_cache.h"
#include "convseq/train/step/model_batch.h"

namespace convseq {

// All inputs that change from one training step to the next.
struct StepInputs {
  std::vector<ModelBatch> batches = {};  // micro-batches
  torch::Tensor total_weight = {};       // float64: weight of all real targets of all processes
  torch::Tensor numbers = {};            // Optimizer::device_numbers()

  // The inputs as a list in a fixed order, for a captured step.
  static StepInputs from(const Tensors& list);
  Tensors to_list() const;
};

}  // namespace convseq
