#include "convseq/data/task/task_encoder.h"

namespace convseq {
namespace {

using Span = TextTemplate::Span;

// Of a longer field no more is tokenized at a time: the tokenizer takes some 250 bytes of memory
// for each byte.
constexpr size_t kMostFieldBytes = 256 << 10;

// The tokens of `span`, as [first, last). "▁word" may begin with the space before it.
std::pair<size_t, size_t> tokens_of(Span span, const std::vector<Token>& tokens) {
  const auto first = std::partition_point(
      tokens.begin(), tokens.end(), [&](const Token& token) { return token.end <= span.begin; });
  const auto last = std::partition_point(
      first, tokens.end(), [&](const Token& token) { return token.begin < span.end; });
  return {first - tokens.begin(), last - tokens.begin()};
}

void erase(TextTemplate::Rendered& source, size_t begin, size_t end) {
  source.text.erase(begin, end - begin);
  const auto moved = [&](size_t at) {
    return at >= end ? at - (end - begin) : std::min(at, begin);
  };
  for (Span& span : source.spans) span = {moved(span.begin), moved(span.end)};
}

}  // namespace

TaskEncoder::TaskEncoder(const Task& task, const Tokenizer& tokenizer)
    : tokenizer_(tokenizer),
      has_target_text_(task.label_kind == LabelKind::Single),
      source_limit_(static_cast<size_t>(task.max_source_tokens - 1)),
      target_limit_(static_cast<size_t>(task.max_target_tokens - 1)) {
  const auto& fields = task.source.fields();
  cut_first_ =
      static_cast<size_t>(std::find(fields.begin(), fields.end(), task.cut) - fields.begin());
}

Example TaskEncoder::encode(const TaskExample& example) {
  Source source = encode_source(example.source);
  if (source.tokens_cut > 0) ++sources_cut_;
  Example ids{.source = std::move(source.ids), .target = {}};
  if (has_target_text_) ids.target = tokenizer_.encode(example.target);
  if (ids.target.size() > target_limit_) {
    ++targets_cut_;
    ids.target.resize(target_limit_);
  }
  ids.target.push_back(Vocabulary::kEos);
  return ids;
}

int64_t TaskEncoder::drop_ends_of_long_fields(TextTemplate::Rendered& source) const {
  const auto end_of_part = [&](size_t begin, size_t last) {
    if (last - begin <= kMostFieldBytes) return last;
    size_t end = begin + kMostFieldBytes;
    while (end > begin && (static_cast<unsigned char>(source.text[end]) & 0xC0) == 0x80) --end;
    return end;
  };
  int64_t dropped = 0;
  for (size_t i = 0; i < source.spans.size(); ++i) {
    const Span field = source.spans[i];
    const size_t kept = end_of_part(field.begin, field.end);
    for (size_t begin = kept; begin < field.end;) {
      const size_t end = end_of_part(begin, field.end);
      dropped += std::ssize(tokenizer_.encode(source.text.substr(begin, end - begin)));
      begin = end;
    }
    erase(source, kept, field.end);
  }
  return dropped;
}

TaskEncoder::Source TaskEncoder::encode_source(const TextTemplate::Rendered& text) const {
  const bool is_long = std::any_of(text.spans.begin(), text.spans.end(), [](Span field) {
    return field.end - field.begin > kMostFieldBytes;
  });
  if (is_long) {
    TextTemplate::Rendered shorter = text;
    const int64_t dropped = drop_ends_of_long_fields(shorter);
    Source source = encode_source(shorter);
    source.tokens_cut += dropped;
    return source;
  }
  Source source{.ids = tokenizer_.encode(text.text), .tokens_cut = 0};
  if (const size_t whole = source.ids.size(); whole > source_limit_) {
    source.ids = fit(text);
    source.tokens_cut = static_cast<int64_t>(whole - source.ids.size());
  }
  source.ids.push_back(Vocabulary::kEos);
  return source;
}

std::vector<int32_t> TaskEncoder::fit(TextTemplate::Rendered source) const {
  std::vector<Token> tokens = tokenizer_.tokens(source.text);
  while (tokens.size() > source_limit_) {
    const Span field = field_to_cut(source.spans, tokens);
    if (field.begin == field.end) break;  // only the template's own words are left
    const auto [first, last] = tokens_of(field, tokens);
    const size_t excess = std::min(tokens.size() - source_limit_, last - first);
    const size_t end = excess == 0 ? field.begin : tokens[last - excess].begin;
    erase(source, std::max(end, field.begin), field.end);
    tokens = tokenizer_.tokens(source.text);
  }
  std::vector<int32_t> ids;
  for (const Token& token : tokens) ids.push_back(token.id);
  ids.resize(std::min(ids.size(), source_limit_));
  return ids;
}

Span TaskEncoder::field_to_cut(const std::vector<Span>& spans,
                               const std::vector<Token>& tokens) const {
  if (cut_first_ < spans.size() && spans[cut_first_].begin < spans[cut_first_].end) {
    return spans[cut_first_];
  }
  const auto length = [&](Span span) {
    const auto [first, last] = tokens_of(span, tokens);
    return last - first;
  };
  return *std::max_element(spans.begin(), spans.end(),
                           [&](Span a, Span b) { return length(a) < length(b); });
}

void require_labels_fit(const Task& task, const Tokenizer& tokenizer) {
  for (const std::string& label : task.labels) {
    const int64_t tokens = std::ssize(tokenizer.encode(label)) + 1;  // the EOS
    require(tokens <= task.max_target_tokens,
            "{}: the label \"{}\" has {} tokens and max_target_tokens is {}; use {} "
            "or a tokenizer with more pieces",
            task.name, label, tokens, task.max_target_tokens,
            OptionName("max_target_tokens", tokens));
  }
}

}  // namespace convseq
