#pragma once

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

struct PairOptions {
  int64_t comparisons = 1;  // m: facts of the premise that the hypothesis repeats
};

// (e) Does the hypothesis repeat every fact of the premise? It repeats all, or all but one. A group
// pairs two premises that differ in one fact with two hypotheses that differ in the same one, so
// each premise and each hypothesis is as often right as wrong.
class Pair : public TaskFamily {
 public:
  explicit Pair(const PairOptions& options);
  TaskDescription describe() const override;
  std::vector<Example> draw_group(Split split, int64_t number, Random& random) const override;
  std::string solve(const Inputs& inputs) const override;

 private:
  PairOptions options_;
};

}  // namespace convseq::synth
