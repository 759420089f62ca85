#pragma once

#include <optional>
#include <string>
#include <vector>

namespace convseq {

// The labels of one example of a multi-label task; both sets may be empty.
struct LabelSets {
  std::vector<std::string> predicted = {};
  std::vector<std::string> truth = {};
};

// A model's answer to one example, and the right answers.
struct Outcome {
  std::string prediction = {};
  std::vector<std::string> references = {};  // every acceptable answer, at least one
  std::string category = {};                 // for scores per category; may be empty
  std::vector<double> probabilities = {};    // of each label of the task; none for generated text
  // Of a multi-label task; prediction and reference are then the sets as texts.
  std::optional<LabelSets> label_sets = {};
};

// Two texts are the same answer if they differ only in white space, which a tokenizer does not
// preserve: leading and trailing white space is removed, any other becomes one space.
std::string single_spaced(const std::string& text);

// The acceptable answer that was given, or else the first one; single-spaced.
std::string truth_of(const Outcome& outcome);
bool is_right(const Outcome& outcome);

}  // namespace convseq
