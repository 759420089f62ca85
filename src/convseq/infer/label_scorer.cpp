#include "convseq/infer/label_scorer.h"

#include <torch/types.h>

#include <algorithm>

#include "convseq/infer/inference_scope.h"
#include "convseq/infer/token_likelihood.h"

namespace convseq {
namespace {

nn::Lengths slice(const nn::Lengths& lengths, int64_t begin, int64_t end) {
  return {lengths.all_full() ? torch::Tensor() : lengths.values.slice(0, begin, end)};
}

}  // namespace

LabelScorer::LabelScorer(Seq2Seq& model, const std::vector<TokenIds>& labels,
                         LabelScorerOptions options)
    : model_(model), options_(options) {
  const ModelConfig& config = model.config();
  require(!labels.empty(), "label scoring: there are no labels");
  auto closed = labels;
  for (TokenIds& label : closed) {
    for (int32_t id : label) {
      require(id >= 0 && id < config.vocab_size,
              "label scoring: token {} of a label is not in the model's vocabulary of {}", id,
              config.vocab_size);
    }
    label.push_back(static_cast<int32_t>(config.eos_token_id));
  }
  const auto device = model.parameters().front().device();
  targets_ = pad(closed, {.pad_token = config.pad_token_id, .device = device});
}

torch::Tensor LabelScorer::score(const PaddedIds& source) const {
  const InferenceScope scope(model_);
  const auto encoded = model_.encode(source.ids, source.lengths);
  const int64_t at_once = std::max<int64_t>(1, options_.max_rows / targets_.ids.size(0));
  std::vector<torch::Tensor> scores;
  for (int64_t begin = 0; begin < source.rows(); begin += at_once) {
    const int64_t end = std::min(begin + at_once, source.rows());
    scores.push_back(
        score_encoded(encoded.slice(0, begin, end), slice(source.lengths, begin, end)));
  }
  return torch::cat(scores);
}

torch::Tensor LabelScorer::score_encoded(const torch::Tensor& encoded,
                                         const nn::Lengths& lengths) const {
  const int64_t batch = encoded.size(0), labels = targets_.rows();
  // The source's keys and values are computed once per row, then repeated for each label.
  DecodeState state = model_.start(encoded, lengths);
  state.reorder(torch::arange(batch, targets_.ids.options()).repeat_interleave(labels));
  const auto targets = targets_.ids.repeat({batch, 1});  // [B·K,T]
  const auto real = targets_.real().repeat({batch, 1});
  const auto decoded = model_.decode(decoder_inputs(model_.config(), targets), state);
  const auto sums =
      row_sums(token_likelihood(model_, decoded.index({real}), targets.index({real})).log, real);
  const auto scores = sums.view({batch, labels});
  return options_.per_token ? scores / targets_.lengths.values : scores;
}

}  // namespace convseq
