#pragma once

#include <vector>

#include "convseq/ops/graph/graph_cache.h"
#include "convseq/train/step/model_batch.h"

namespace convseq {

// All that differs from one training step to the next.
struct StepInputs {
  std::vector<ModelBatch> batches = {};  // micro-batches
  torch::Tensor total_weight = {};       // of all real targets of all processes, float64
  torch::Tensor numbers = {};            // the optimizer's, of this step

  // As a list in a fixed order, for a captured step.
  static StepInputs from(const Tensors& list);
  Tensors to_list() const;
};

}  // namespace convseq
