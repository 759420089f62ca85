#include "convseq/answer/label_scorer.h"

#include "convseq/base/error.h"

namespace convseq {

LabelScorer::LabelScorer(Engine& engine, const std::vector<TokenIds>& labels)
    : engine_(engine), targets_(labels) {
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
  return engine_.score(*engine_.encode(sources), targets_);
}

}  // namespace convseq
