#pragma once

#include <string>
#include <vector>

#include "convseq/eval/confusion.h"

namespace convseq {

// How well one class is found. What is 0 / 0 (a class that is never answered, or never true) is 0.
struct ClassScore {
  std::string label;
  double precision = 0;  // right / answered
  double recall = 0;     // right / true
  double f1 = 0;
  int64_t support = 0;   // examples whose true label it is
  int64_t answered = 0;  // examples that were given it
};

// One for each label, in the order of `labels`. Answers that are no label count as wrong.
std::vector<ClassScore> class_scores(const Confusion& confusion,
                                     const std::vector<std::string>& labels);

// What a model scores that always gives the most frequent label: accuracy means little below it.
struct Majority {
  std::string label;
  double share = 0;
};

Majority majority_of(const Confusion& confusion);

}  // namespace convseq
