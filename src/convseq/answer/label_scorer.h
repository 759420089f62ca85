#pragma once

#include "convseq/runtime/engine.h"

namespace convseq {

// How likely each of a task's labels is as the answer: log p(label, EOS | source). Every label has
// a score, whereas a greedy answer may be none of the labels.
class LabelScorer {
 public:
  // `labels` as the tokenizer gives them, without an EOS.
  LabelScorer(Engine& engine, const std::vector<TokenIds>& labels);

  ClassScores score(const std::vector<TokenIds>& sources) const;  // [B][K]
  Engine& engine() const { return engine_; }

 private:
  Engine& engine_;
  std::vector<TokenIds> targets_;  // each label closed by an EOS
};

}  // namespace convseq
