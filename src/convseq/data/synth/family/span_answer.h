#pragma once

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

struct SpanAnswerOptions {
  int64_t facts = 4;      // per context, one of which is asked for
  int64_t sentences = 1;  // plain sentences between two facts
};

// (f) Copy the span that answers the question. A group asks two questions of two contexts in which
// the two answers are swapped: neither the question nor the context alone favours an answer.
class SpanAnswer : public TaskFamily {
 public:
  explicit SpanAnswer(const SpanAnswerOptions& options);
  TaskDescription describe() const override;
  std::vector<Example> draw_group(Split split, int64_t number, Random& random) const override;
  std::string solve(const Inputs& inputs) const override;

 private:
  SpanAnswerOptions options_;
};

}  // namespace convseq::synth
