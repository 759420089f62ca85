#include "convseq/train/step/step_inputs.h"

#include <torch/types.h>

namespace convseq {

StepInputs StepInputs::from(const Tensors& list) {
  StepInputs inputs{.total_weight = list[0], .numbers = list[1]};
  for (auto next = list.begin() + 2; next != list.end();) {
    ModelBatch& batch = inputs.batches.emplace_back();
    for (torch::Tensor* part : batch.parts()) *part = *next++;
  }
  return inputs;
}

Tensors StepInputs::to_list() const {
  Tensors list = {total_weight, numbers};
  for (ModelBatch batch : batches) {
    for (const torch::Tensor* part : batch.parts()) list.push_back(*part);
  }
  return list;
}

}  // namespace convseq
