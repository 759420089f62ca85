#include "convseq/data/synth/grammar/words.h"

namespace convseq::synth {
namespace {

std::vector<std::string_view> split_at_any(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  size_t begin = text.find_first_not_of(separators);
  while (begin != text.npos) {
    const size_t end = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(separators, end);
  }
  return parts;
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  return split_at_any(text, " .,?:");
}

std::vector<std::string_view> sentences_of(std::string_view text) {
  return split_at_any(text, ".?");
}

std::string phrase(std::initializer_list<std::string_view> words) {
  std::string joined;
  for (std::string_view word : words) {
    if (!joined.empty()) joined += ' ';
    joined += word;
  }
  return joined;
}

}  // namespace convseq::synth
