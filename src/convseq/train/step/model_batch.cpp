#include "convseq/train/step/model_batch.h"

#include <torch/types.h>

#include "convseq/spec/vocabulary_check.h"

namespace convseq {
namespace {

torch::Tensor ids(const std::vector<int64_t>& values, int64_t rows, int64_t width) {
  return torch::tensor(values, torch::kInt64).view({rows, width});
}

template <class Change>
ModelBatch changed(ModelBatch batch, Change change) {
  for (torch::Tensor* each : {&batch.source, &batch.source_lengths.values, &batch.decoder_input,
                              &batch.labels, &batch.weights, &batch.counts}) {
    if (each->defined()) *each = change(*each);
  }
  return batch;
}

}  // namespace

void ModelBatch::copy_from(const ModelBatch& other) {
  const auto copy = [](torch::Tensor& to, const torch::Tensor& from) {
    if (to.defined()) to.copy_(from, /*non_blocking=*/true);
  };
  copy(source, other.source);
  copy(source_lengths.values, other.source_lengths.values);
  copy(decoder_input, other.decoder_input);
  copy(labels, other.labels);
  copy(weights, other.weights);
  copy(counts, other.counts);
}

ModelBatch ModelBatch::on(torch::Device device) const {
  return changed(*this, [&](const torch::Tensor& x) { return x.to(device); });
}

ModelBatch ModelBatch::pinned() const {
  return changed(*this, [](const torch::Tensor& x) { return x.pin_memory(); });
}

ModelBatch to_model_batch(const Batch& batch, const ModelConfig& config, torch::Device device) {
  check_ids(config, batch.source);
  if (config.decoder_layers > 0) check_ids(config, batch.target);  // else they are classes
  const auto target = ids(batch.target, batch.rows, batch.target_width);
  const nn::Lengths target_lengths{torch::tensor(batch.target_lengths)};
  const auto real = target_lengths.mask(batch.target_width);
  ModelBatch result;
  result.source = ids(batch.source, batch.rows, batch.source_width).to(device);
  result.decoder_input = decoder_inputs(config, target).to(device);
  result.labels = target.masked_fill(~real, kIgnoredLabel).to(device);
  const bool padded = std::any_of(batch.source_lengths.begin(), batch.source_lengths.end(),
                                  [&](int64_t length) { return length < batch.source_width; });
  if (padded || batch.explicit_lengths)
    result.source_lengths.values = torch::tensor(batch.source_lengths).to(device);
  if (!batch.weights.empty()) {
    result.weights = torch::tensor(batch.weights, torch::kFloat32).to(device);
  }
  result.counts = torch::tensor({batch.target_weight(), static_cast<double>(batch.source_tokens()),
                                 static_cast<double>(batch.target_tokens())},
                                torch::kFloat64)
                      .to(device);
  return result;
}

}  // namespace convseq
