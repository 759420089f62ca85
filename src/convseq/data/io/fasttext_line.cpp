#include "convseq/data/io/fasttext_line.h"

#include "convseq/text/trim.h"

namespace convseq {

FastTextLine FastTextLine::parse(std::string_view line) {
  std::vector<std::string> labels;
  std::string text;
  while (!line.empty()) {  // as fastText does: a word with the prefix is a label wherever it stands
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string_view word = line.substr(0, end);
    const size_t next = std::min(line.find_first_not_of(" \t", end), line.size());
    if (word.starts_with(kPrefix)) {
      labels.emplace_back(word.substr(kPrefix.size()));
    } else {
      text += line.substr(0, next);
    }
    line.remove_prefix(next);
  }
  return {.labels = std::move(labels), .text = trimmed(text)};
}

}  // namespace convseq
