#pragma once

#include <string>
#include <vector>

namespace convseq {

// What a model answered to one example, and what would have been right.
struct Outcome {
  std::string prediction = {};
  std::vector<std::string> references = {};  // every acceptable answer, at least one
  std::string category = {};                 // by which scores are also given apart; may be empty
};

// Two texts are the same answer when they differ in white space alone, since that is what a
// tokenizer does not keep: leading and trailing white space falls away, the rest is one space.
std::string single_spaced(const std::string& text);

// The acceptable answer that was given, or else the first one; single-spaced.
std::string truth_of(const Outcome& outcome);
bool is_right(const Outcome& outcome);

}  // namespace convseq
