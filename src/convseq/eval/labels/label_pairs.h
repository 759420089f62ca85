#pragma once

#include <string>
#include <vector>

#include "convseq/eval/outcome.h"

namespace convseq {

// A true label and the predicted one; single-spaced.
struct LabelPair {
  std::string truth;
  std::string answer;
};

// The pairs that one example adds to the counts of its labels: a single one, or for label sets one
// for each label in either set, with an empty text where the other set does not have it.
std::vector<LabelPair> label_pairs(const Outcome& outcome);

// The true labels of one example: a single one, or any number for label sets; single-spaced.
std::vector<std::string> true_labels(const Outcome& outcome);

}  // namespace convseq
