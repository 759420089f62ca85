#pragma once

#include <algorithm>
#include <cstdint>

namespace convseq {

// Cuts a row of tokens (documents end to end, each closed by an EOS) into segments of one length;
// only the last may be shorter. Every token is in exactly one segment. T5 joins documents as well,
// without a mark between them; the EOS tells a model where one ends.
struct Segmenter {
  int64_t length = 0;

  int64_t count(int64_t tokens) const { return (tokens + length - 1) / length; }
  int64_t begin(int64_t segment) const { return segment * length; }
  int64_t size(int64_t segment, int64_t tokens) const {
    return std::min(length, tokens - begin(segment));
  }
};

}  // namespace convseq
