#include "convseq/eval/labels/label_counts.h"

#include "convseq/eval/labels/label_pairs.h"

namespace convseq {

LabelNumbers::LabelNumbers(const std::vector<std::string>& labels) {
  for (const std::string& label : labels) add(single_spaced(label));
}

LabelNumbers::LabelNumbers(const std::vector<std::string>& labels,
                           std::span<const Outcome> outcomes)
    : LabelNumbers(labels) {
  if (!labels.empty()) return;
  for (const Outcome& outcome : outcomes) {
    for (const std::string& label : true_labels(outcome)) add(label);
  }
}

void LabelNumbers::add(const std::string& label) {
  numbers_.emplace(label, static_cast<uint32_t>(numbers_.size()));
}

uint32_t LabelNumbers::operator[](const std::string& text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? size() : found->second;
}

LabelCounts::LabelCounts(std::span<const Outcome> outcomes, const LabelNumbers& numbers)
    : labels_(numbers.size()) {
  for (const Outcome& outcome : outcomes) {
    begins_.push_back(pairs_.size());
    for (const auto& [truth, answer] : label_pairs(outcome)) {
      pairs_.push_back({.truth = numbers[truth], .answer = numbers[answer]});
    }
  }
  begins_.push_back(pairs_.size());
}

std::vector<ClassCounts> LabelCounts::of(Sample sample) const {
  std::vector<ClassCounts> counts(labels_ + 1);
  for (const uint32_t example : sample) {
    for (size_t i = begins_[example]; i < begins_[example + 1]; ++i) {
      const auto [truth, answer] = pairs_[i];
      ++counts[truth].truths;
      ++counts[answer].answers;
      if (truth == answer) ++counts[truth].right;
    }
  }
  return counts;
}

}  // namespace convseq
