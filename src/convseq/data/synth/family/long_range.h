#pragma once

#include "convseq/data/synth/family/task_family.h"
#include "convseq/data/synth/grammar/lexicon.h"

namespace convseq::synth {

struct LongRangeOptions {
  int64_t distance = 64;  // from the first deciding word to the second, in words
  int64_t cue_words = 8;  // of each polarity; all are shown in training
};

// (c) Do the first and the last judgement agree? Plain prose of an exact length lies between them.
// The four texts of a group are the four ways to pair a kind or rude beginning with a kind or rude
// end, so a sum of one term per end predicts nothing: its log loss is never below ln 2.
class LongRange : public TaskFamily {
 public:
  explicit LongRange(const LongRangeOptions& options);
  TaskDescription describe() const override;
  std::vector<Example> draw_group(Split split, int64_t number, Random& random) const override;
  std::string solve(const Inputs& inputs) const override;

 private:
  LongRangeOptions options_;
};

}  // namespace convseq::synth
