#include "convseq/text/sentence_sample.h"

#include "convseq/base/utf8.h"

namespace convseq {

void SentenceSample::add(std::string_view document) {
  while (!document.empty()) {
    const size_t end = std::min(document.find('\n'), document.size());
    add_line(document.substr(0, end));
    document.remove_prefix(std::min(end + 1, document.size()));
  }
}

void SentenceSample::add_line(std::string_view line) {
  while (!line.empty()) {
    std::string_view head = utf8_prefix(line, kMaxSentenceBytes);
    if (head.size() < line.size()) {
      const size_t space = head.rfind(' ');
      if (space != head.npos && space > 0) head = head.substr(0, space);
    }
    add_sentence(head);
    line.remove_prefix(head.size());
  }
}

void SentenceSample::add_sentence(std::string_view sentence) {
  if (sentence.find_first_not_of(" \t\r") == sentence.npos) return;
  ++seen_;
  if (sentences_.size() < capacity_) {
    sentences_.emplace_back(sentence);
    return;
  }
  // The n-th sentence stays with probability capacity / n, in a random one's place.
  const uint64_t place = random_.below(static_cast<uint64_t>(seen_));
  if (place < capacity_) sentences_[place] = sentence;
}

}  // namespace convseq
