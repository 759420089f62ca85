#include "convseq/eval/labels/label_pairs.h"

#include "convseq/base/contains.h"

namespace convseq {

std::vector<LabelPair> label_pairs(const Outcome& outcome) {
  if (!outcome.label_sets) return {{truth_of(outcome), single_spaced(outcome.prediction)}};
  const auto& [predicted, truths] = *outcome.label_sets;
  std::vector<LabelPair> pairs;
  for (const std::string& label : truths) {
    const std::string name = single_spaced(label);
    pairs.push_back({.truth = name, .answer = contains(predicted, label) ? name : ""});
  }
  for (const std::string& label : predicted) {
    if (!contains(truths, label)) pairs.push_back({.truth = "", .answer = single_spaced(label)});
  }
  return pairs;
}

std::vector<std::string> true_labels(const Outcome& outcome) {
  if (!outcome.label_sets) return {truth_of(outcome)};
  std::vector<std::string> labels;
  for (const std::string& label : outcome.label_sets->truth) labels.push_back(single_spaced(label));
  return labels;
}

}  // namespace convseq
