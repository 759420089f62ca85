#pragma once

#include <algorithm>
#include <cstdint>

namespace convseq {

// Cuts a sequence of tokens (concatenated documents, each with an EOS) into segments of one length;
// only the last may be shorter. Every token is in exactly one segment. T5 concatenates documents as
// well, without a separator; the EOS tells a model where a document ends.
struct Segmenter {
  int64_t length = 0;

  int64_t count(int64_t tokens) const { return (tokens + length - 1) / length; }
  int64_t begin(int64_t segment) const { return segment * length; }
  int64_t size(int64_t segment, int64_t tokens) const {
    return std::min(length, tokens - begin(segment));
  }
};

}  // namespace convseq
