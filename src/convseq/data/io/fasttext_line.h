#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convseq {

// A line of fastText's training files: "__label__spam Win a prize now".
struct FastTextLine {
  static constexpr std::string_view kPrefix = "__label__";

  std::vector<std::string> labels;  // without the prefix
  std::string text;                 // the other words

  // An Error where the line has no label.
  static FastTextLine parse(std::string_view line);
};

}  // namespace convseq
