#include "convseq/train/step/step_inputs.h"

#include <torch/types.h>

namespace convseq {

StepInputs StepInputs::on(torch::Device device) const {
  StepInputs there{.total_weight = total_weight.to(device), .numbers = numbers.to(device)};
  for (const ModelBatch& batch : batches) there.batches.push_back(batch.on(device));
  return there;
}

StepInputs StepInputs::pinned() const {
  StepInputs there{.total_weight = total_weight.pin_memory(), .numbers = numbers.pin_memory()};
  for (const ModelBatch& batch : batches) there.batches.push_back(batch.pinned());
  return there;
}

void StepInputs::copy_from(const StepInputs& other) {
  for (size_t i = 0; i < batches.size(); ++i) batches[i].copy_from(other.batches[i]);
  total_weight.copy_(other.total_weight, /*non_blocking=*/true);
  numbers.copy_(other.numbers, /*non_blocking=*/true);
}

std::vector<int64_t> StepInputs::shape() const {
  std::vector<int64_t> shape;
  for (const ModelBatch& batch : batches) {
    shape.insert(shape.end(), {batch.source.size(0), batch.source.size(1), batch.labels.size(1),
                               batch.source_lengths.all_full(), batch.weights.defined()});
  }
  return shape;
}

}  // namespace convseq
