#pragma once

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

struct SpanAnswerOptions {
  int64_t facts = 4;      // in a context, one of them asked for
  int64_t sentences = 1;  // plain ones between two facts
};

// (f) Copy the span that answers the question. A group asks two questions of two contexts in which
// the two answers have changed places: neither question nor context favours either answer.
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
