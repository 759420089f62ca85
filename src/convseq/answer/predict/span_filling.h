#pragma once

#include <string>

#include "convseq/runtime/engine.h"
#include "convseq/text/tokenizer.h"

namespace convseq {

// Span filling, T5's way: each sentinel of a text stands for a missing span, and the answer of a
// pre-trained model is "<extra_id_0> first span <extra_id_1> second span".
class SpanFilling {
 public:
  // `tokenizer` reads sentinels, and must outlive this.
  explicit SpanFilling(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  bool has_spans(const TokenIds& source) const;

  // A sentinel that the source does not have comes after its last span. A source without any
  // sentinel has no spans, and its answer ends with the EOS alone.
  bool ends(const TokenIds& source, int32_t token) const;

  // The text with the spans of the answer in the place of its sentinels. A sentinel that the answer
  // leaves out stays. A span that begins inside a word, or with punctuation, follows without space.
  std::string filled(std::string_view text, const TokenIds& answer) const;

 private:
  const Tokenizer& tokenizer_;
};

}  // namespace convseq
