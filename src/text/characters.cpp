#include "convseq/text/characters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "convseq/text/unicode_tables.h"

namespace convseq {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // that needs so many bytes

bool within(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// How many bytes the character that begins with `lead` has; 0: none begins so.
size_t width_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

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
  for (size_t at = 0; at < utf8.size();) {
    const auto lead = static_cast<unsigned char>(utf8[at]);
    const size_t width = width_of(lead);
    bool whole = width > 0 && at + width <= utf8.size();
    char32_t c = width <= 1 ? lead : lead & (0x7F >> width);
    for (size_t i = 1; whole && i < width; ++i) {
      const auto next = static_cast<unsigned char>(utf8[at + i]);
      whole = (next & 0xC0) == 0x80;
      c = c << 6 | (next & 0x3F);
    }
    whole = whole && c >= kSmallest[width] && c <= 0x10FFFF && !within(c, 0xD800, 0xDFFF);
    characters += whole ? c : kReplacement;
    at += whole ? width : 1;
  }
  return characters;
}

std::string utf8_of(std::u32string_view characters) {
  std::string text;
  const auto follow = [&](char32_t c, int shift) {
    text += static_cast<char>(0x80 | (c >> shift & 0x3F));
  };
  for (char32_t c : characters) {
    if (c < 0x80) {
      text += static_cast<char>(c);
    } else if (c < 0x800) {
      text += static_cast<char>(0xC0 | c >> 6);
      follow(c, 0);
    } else if (c < 0x10000) {
      text += static_cast<char>(0xE0 | c >> 12);
      follow(c, 6), follow(c, 0);
    } else {
      text += static_cast<char>(0xF0 | c >> 18);
      follow(c, 12), follow(c, 6), follow(c, 0);
    }
  }
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
