#pragma once

#include <string>
#include <vector>

#include "convseq/eval/confusion.h"

namespace convseq {

// Scores of one class. 0 / 0 (a class that is never predicted, or never true) counts as 0.
struct ClassScore {
  std::string label;
  double precision = 0;  // right / predicted
  double recall = 0;     // right / true
  double f1 = 0;
  int64_t support = 0;   // examples whose true label it is
  int64_t answered = 0;  // examples for which it was predicted
};

// One per label, in the order of `labels`. Answers that are not labels count as wrong.
std::vector<ClassScore> class_scores(const Confusion& confusion,
                                     const std::vector<std::string>& labels);

// The accuracy of always predicting the most frequent label (the majority baseline).
struct Majority {
  std::string label;
  double share = 0;
};

Majority majority_of(const Confusion& confusion);

}  // namespace convseq
