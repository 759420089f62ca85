#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "convseq/eval/bootstrap.h"
#include "convseq/eval/outcome.h"

namespace convseq {

struct ClassCounts {
  int64_t right = 0;
  int64_t answers = 0;
  int64_t truths = 0;

  bool seen() const { return answers + truths > 0; }
  double f1() const {
    return 2 * static_cast<double>(right) / static_cast<double>(answers + truths);
  }
};

// Maps each label to its index, and any other text to the index after the last.
class LabelNumbers {
 public:
  explicit LabelNumbers(const std::vector<std::string>& labels);
  // The given labels, or, if there are none, all that are true somewhere.
  LabelNumbers(const std::vector<std::string>& labels, std::span<const Outcome> outcomes);

  uint32_t size() const { return static_cast<uint32_t>(numbers_.size()); }
  uint32_t operator[](const std::string& text) const;

 private:
  void add(const std::string& label);
  std::unordered_map<std::string, uint32_t> numbers_;
};

// The label pairs of examples as indices, so that resampling does not compare texts.
class LabelCounts {
 public:
  LabelCounts(std::span<const Outcome> outcomes, const LabelNumbers& numbers);

  // One per label, and a last one for texts that are not labels.
  std::vector<ClassCounts> of(Sample sample) const;

 private:
  struct Pair {
    uint32_t truth = 0;
    uint32_t answer = 0;
  };
  size_t labels_;
  std::vector<Pair> pairs_;
  std::vector<size_t> begins_;  // of each example's pairs, and the end of the last
};

}  // namespace convseq
