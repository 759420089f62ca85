#include "convseq/answer/predict/span_filling.h"

#include <algorithm>
#include <map>

#include "convseq/base/contains.h"

namespace convseq {
namespace {

struct Span {
  std::string text;
  bool begins_word = true;
};

// The spans of an answer by their sentinels; of a sentinel that comes twice, the first.
std::map<int32_t, Span> spans_of(const Tokenizer& tokenizer, const TokenIds& answer) {
  constexpr std::string_view kWordBegin = "▁";
  const auto is_sentinel = [&](int32_t id) { return tokenizer.vocabulary().is_sentinel(id); };
  std::map<int32_t, Span> spans;
  for (auto at = std::find_if(answer.begin(), answer.end(), is_sentinel); at != answer.end();) {
    const auto begin = at + 1;
    const auto end = std::find_if(begin, answer.end(), is_sentinel);
    const bool begins_word =
        begin != end && std::string_view(tokenizer.piece(*begin)).starts_with(kWordBegin);
    spans.try_emplace(*at, Span{tokenizer.decode({begin, end}), begins_word});
    at = end;
  }
  return spans;
}

}  // namespace

bool SpanFilling::has_spans(const TokenIds& source) const {
  return std::any_of(source.begin(), source.end(),
                     [&](int32_t id) { return tokenizer_.vocabulary().is_sentinel(id); });
}

bool SpanFilling::ends(const TokenIds& source, int32_t token) const {
  return tokenizer_.vocabulary().is_sentinel(token) && has_spans(source) &&
         !contains(source, token);
}

std::string SpanFilling::filled(std::string_view text, const TokenIds& answer) const {
  const auto spans = spans_of(tokenizer_, answer);
  std::string filled;
  size_t copied = 0;
  for (size_t next = 0; const auto found = find_sentinel(text, next); next = found->end) {
    const auto span = spans.find(tokenizer_.vocabulary().sentinel(found->index));
    if (span == spans.end()) continue;
    filled += text.substr(copied, found->begin - copied);
    if (!span->second.begins_word) filled.erase(filled.find_last_not_of(' ') + 1);
    filled += span->second.text;
    copied = found->end;
  }
  return filled.append(text.substr(copied));
}

}  // namespace convseq
