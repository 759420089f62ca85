#include "convseq/answer/label_scorer.h"

#include "convseq/base/error.h"

namespace convseq {

LabelScorer::LabelScorer(Engine& engine, const std::vector<TokenIds>& labels,
                         LabelScorerOptions options)
    : engine_(engine), options_(options), targets_(labels) {
  const ModelConfig& config = engine.config();
  require(!labels.empty(), "label scoring: there are no labels");
  for (TokenIds& label : targets_) {
    for (int32_t id : label) {
      require(id >= 0 && id < config.vocab_size,
              "label scoring: token {} of a label is not in the model's vocabulary of {}", id,
              config.vocab_size);
    }
    label.push_back(static_cast<int32_t>(config.eos_token_id));
  }
}

ClassScores LabelScorer::score(const std::vector<TokenIds>& sources) const {
  ClassScores scores = engine_.score(*engine_.encode(sources), targets_);
  if (!options_.per_token) return scores;
  for (auto& row : scores) {
    for (size_t k = 0; k < row.size(); ++k) row[k] /= static_cast<double>(targets_[k].size());
  }
  return scores;
}

}  // namespace convseq
