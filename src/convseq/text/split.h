#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace convseq {

// The parts of a text between separators, at least one; an empty separator divides nothing.
inline std::vector<std::string> split(std::string_view text, std::string_view separator) {
  std::vector<std::string> parts;
  while (!separator.empty()) {
    const size_t end = text.find(separator);
    if (end == text.npos) break;
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  parts.emplace_back(text);
  return parts;
}

}  // namespace convseq
