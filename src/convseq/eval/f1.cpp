#include "convseq/eval/f1.h"

#include <unordered_map>

namespace convseq {
namespace {

struct ClassCounts {
  int64_t right = 0;
  int64_t answers = 0;
  int64_t truths = 0;

  bool seen() const { return answers + truths > 0; }
  double f1() const {
    return 2 * static_cast<double>(right) / static_cast<double>(answers + truths);
  }
};

// An example as indices of labels, so that resampling does not compare texts.
struct Numbered {
  uint32_t truth = 0;
  uint32_t answer = 0;
};

// Maps each label to its index, and any other text to the index after the last.
class LabelNumbers {
 public:
  explicit LabelNumbers(const std::vector<std::string>& labels) {
    for (const auto& label : labels) add(single_spaced(label));
  }
  void add(const std::string& label) {
    numbers_.emplace(label, static_cast<uint32_t>(numbers_.size()));
  }
  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }
  uint32_t operator[](const std::string& text) const {
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? size() : found->second;
  }
  std::vector<Numbered> number(std::span<const Outcome> outcomes) const {
    std::vector<Numbered> numbered;
    for (const Outcome& outcome : outcomes) {
      numbered.push_back({.truth = (*this)[truth_of(outcome)],
                          .answer = (*this)[single_spaced(outcome.prediction)]});
    }
    return numbered;
  }

 private:
  std::unordered_map<std::string, uint32_t> numbers_;
};

std::vector<ClassCounts> count(const std::vector<Numbered>& numbered, Sample sample,
                               size_t labels) {
  std::vector<ClassCounts> counts(labels + 1);
  for (uint32_t example : sample) {
    const auto [truth, answer] = numbered[example];
    ++counts[truth].truths;
    ++counts[answer].answers;
    if (truth == answer) ++counts[truth].right;
  }
  counts.pop_back();  // texts that are not labels
  return counts;
}

}  // namespace

Statistic f1_of(std::span<const Outcome> outcomes, const std::string& positive_label) {
  const LabelNumbers numbers({positive_label});
  return [numbered = numbers.number(outcomes)](Sample sample) {
    const ClassCounts positive = count(numbered, sample, 1).front();
    return positive.seen() ? positive.f1() : 0.0;
  };
}

Statistic macro_f1_of(std::span<const Outcome> outcomes, const std::vector<std::string>& labels) {
  LabelNumbers numbers(labels);
  if (labels.empty()) {
    for (const Outcome& outcome : outcomes) numbers.add(truth_of(outcome));
  }
  return [numbered = numbers.number(outcomes), labels = numbers.size()](Sample sample) {
    double sum = 0;
    int64_t classes = 0;
    for (const ClassCounts& each : count(numbered, sample, labels)) {
      if (!each.seen()) continue;
      sum += each.f1();
      ++classes;
    }
    return classes == 0 ? 0.0 : sum / static_cast<double>(classes);
  };
}

}  // namespace convseq
