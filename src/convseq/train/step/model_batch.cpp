#include "convseq/train/step/model_batch.h"

#include <torch/types.h>

#include "convseq/spec/vocabulary_check.h"

namespace convseq {
namespace {

torch::Tensor ids(const std::vector<int64_t>& values, int64_t rows, int64_t width) {
  return torch::tensor(values, torch::kInt64).view({rows, width});
}

}  // namespace

std::array<torch::Tensor*, 6> ModelBatch::parts() {
  return {&source, &source_lengths.values, &decoder_input, &labels, &weights, &counts};
}

ModelBatch to_model_batch(const Batch& batch, const ModelConfig& config, torch::Device device) {
  check_ids(config, batch.source);
  if (config.decoder_layers > 0) check_ids(config, batch.target);  // otherwise targets are classes
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
