#pragma once

#include "convseq/data/synth/family/polar_split.h"
#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

struct LexicalOptions {
  uint64_t seed = 0;         // of the division into shown and hidden words
  int64_t sentences = 2;     // plain sentences around the deciding one
  double shown_share = 0.5;  // of the polar words that the training set shows
};

// (a) One word or phrase decides: is the text kind or rude? A group is two texts that differ in
// that word alone. Half of the evaluation texts use words that the training set hides.
class Lexical : public TaskFamily {
 public:
  explicit Lexical(const LexicalOptions& options);
  TaskDescription describe() const override;
  std::vector<Example> draw_group(Split split, int64_t number, Random& random) const override;
  std::string solve(const Inputs& inputs) const override;

 private:
  LexicalOptions options_;
  PolarSplit words_;
};

}  // namespace convseq::synth
