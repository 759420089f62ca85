#pragma once

#include "convseq/data/synth/family/polar_split.h"
#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

struct ScopeOptions {
  uint64_t seed = 0;         // of the division into shown and hidden words
  int64_t window = 1;        // words between a negation or intensifier and the word it acts on
  int64_t sentences = 1;     // plain sentences before it
  double shown_share = 0.5;  // of the polar words that the training set shows
};

// (b) A negation inverts the judgement and an intensifier makes it strong if they are in the clause
// of the polar word; in the other clause they have no effect on it. The four texts of a group
// consist of the same words, and have the four labels.
class Scope : public TaskFamily {
 public:
  explicit Scope(const ScopeOptions& options);
  TaskDescription describe() const override;
  std::vector<Example> draw_group(Split split, int64_t number, Random& random) const override;
  std::string solve(const Inputs& inputs) const override;

 private:
  ScopeOptions options_;
  PolarSplit words_;
};

}  // namespace convseq::synth
