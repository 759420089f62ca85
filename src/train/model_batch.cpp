#include "train/model_batch.h"

#include <torch/torch.h>

namespace convseq {
namespace {

torch::Tensor ids(const std::vector<int64_t>& values, int64_t rows, int64_t width) {
  return torch::tensor(values, torch::kInt64).view({rows, width});
}

}  // namespace

bool ModelBatch::has_shape_of(const ModelBatch& other) const {
  return source.sizes() == other.source.sizes() && labels.sizes() == other.labels.sizes() &&
         source_lengths.all_full() == other.source_lengths.all_full() &&
         weights.defined() == other.weights.defined();
}

void ModelBatch::copy_from(const ModelBatch& other) {
  source.copy_(other.source);
  decoder_input.copy_(other.decoder_input);
  labels.copy_(other.labels);
  counts.copy_(other.counts);
  if (!source_lengths.all_full()) source_lengths.values.copy_(other.source_lengths.values);
  if (weights.defined()) weights.copy_(other.weights);
}

ModelBatch ModelBatch::on(torch::Device device) const {
  ModelBatch there = *this;
  for (torch::Tensor* each : {&there.source, &there.source_lengths.values, &there.decoder_input,
                              &there.labels, &there.weights, &there.counts}) {
    if (each->defined()) *each = each->to(device);
  }
  return there;
}

ModelBatch to_model_batch(const Batch& batch, const ModelConfig& config, torch::Device device) {
  const auto target = ids(batch.target, batch.rows, batch.target_width);
  const nn::Lengths target_lengths{torch::tensor(batch.target_lengths)};
  const auto real = target_lengths.mask(batch.target_width);
  ModelBatch result;
  result.source = ids(batch.source, batch.rows, batch.source_width).to(device);
  result.decoder_input = decoder_inputs(config, target).to(device);
  result.labels = target.masked_fill(~real, kIgnoredLabel).to(device);
  const bool padded = std::any_of(batch.source_lengths.begin(), batch.source_lengths.end(),
                                  [&](int64_t length) { return length < batch.source_width; });
  if (padded) result.source_lengths.values = torch::tensor(batch.source_lengths).to(device);
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
