#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/random.h"

namespace convseq {

// A uniform sample of at most `capacity` sentences of a text of any length (a reservoir), the same
// for the same seed and the same text.
class SentenceSample {
 public:
  static constexpr size_t kMaxSentenceBytes = 4096;  // SentencePiece drops those above 4192

  SentenceSample(size_t capacity, uint64_t seed) : capacity_(capacity), random_(seed) {}

  // Every line of `document` counts as a sentence; one that is too long is cut at spaces.
  void add(std::string_view document);

  const std::vector<std::string>& sentences() const { return sentences_; }
  int64_t seen() const { return seen_; }

 private:
  void add_line(std::string_view line);
  void add_sentence(std::string_view sentence);

  size_t capacity_;
  Random random_;
  int64_t seen_ = 0;
  std::vector<std::string> sentences_;
};

}  // namespace convseq
