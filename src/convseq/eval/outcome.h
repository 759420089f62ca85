#pragma once

#include <string>
#include <vector>

namespace convseq {

// A model's answer to one example, and the right answers.
struct Outcome {
  std::string prediction = {};
  std::vector<std::string> references = {};  // every acceptable answer, at least one
  std::string category = {};                 // for scores per category; may be empty
};

// Two texts are the same answer if they differ only in white space, which a tokenizer does not
// preserve: leading and trailing white space is removed, any other becomes one space.
std::string single_spaced(const std::string& text);

// The acceptable answer that was given, or else the first one; single-spaced.
std::string truth_of(const Outcome& outcome);
bool is_right(const Outcome& outcome);

}  // namespace convseq
