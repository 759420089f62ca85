#include "convseq/text/characters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "convseq/base/utf8.h"
#include "convseq/text/unicode_tables.h"

namespace convseq {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

// The range of a sorted table that `c` may lie in: the last that begins at or before it.
template <class Range, size_t kSize>
const Range* find_range(const Range (&table)[kSize], char32_t c) {
  const auto after =
      std::upper_bound(std::begin(table), std::end(table), c,
                       [](char32_t each, const Range& range) { return each < range.first; });
  if (after == std::begin(table) || c > std::prev(after)->last) return nullptr;
  return std::prev(after);
}

template <class Range, size_t kSize>
bool is_in(const Range (&table)[kSize], char32_t c) {
  return find_range(table, c) != nullptr;
}

char32_t lower_of(char32_t c) {
  const unicode::Shift* shift = find_range(unicode::kLower, c);
  if (shift == nullptr || (c - shift->first) % shift->step != 0) return c;
  return static_cast<char32_t>(static_cast<int32_t>(c) + shift->distance);
}

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr char32_t kDottedCapitalI = 0x130;

// Unicode's Final_Sigma: a letter that has a case stands before it and none behind it, marks and
// apostrophes and the like passed over.
bool ends_a_word(std::u32string_view text, size_t at) {
  const auto ignorable = [](char32_t c) { return is_in(unicode::kCaseIgnorable, c); };
  size_t before = at;
  while (before > 0 && ignorable(text[before - 1])) --before;
  if (before == 0 || !is_in(unicode::kCased, text[before - 1])) return false;
  size_t after = at + 1;
  while (after < text.size() && ignorable(text[after])) ++after;
  return after == text.size() || !is_in(unicode::kCased, text[after]);
}

}  // namespace

std::u32string characters_of(std::string_view utf8) {
  std::u32string characters;
  while (!utf8.empty()) {
    const Utf8Character first = first_character(utf8);
    characters += first.bytes > 0 ? first.value : kReplacement;
    utf8.remove_prefix(std::max<size_t>(first.bytes, 1));
  }
  return characters;
}

std::string utf8_of(std::u32string_view characters) {
  std::string text;
  for (char32_t c : characters) append_utf8(text, c);
  return text;
}

std::u32string lower_case(std::u32string_view text) {
  std::u32string lower;
  lower.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == kCapitalSigma) {
      lower += ends_a_word(text, at) ? kFinalSigma : kSigma;
    } else if (text[at] == kDottedCapitalI) {
      lower += U"i\u0307";
    } else {
      lower += lower_of(text[at]);
    }
  }
  return lower;
}

bool is_space(char32_t c) { return is_in(unicode::kSpace, c); }

bool is_word(char32_t c) { return is_in(unicode::kWord, c); }

}  // namespace convseq
