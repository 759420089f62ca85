#pragma once

#include <string>
#include <string_view>

namespace convseq {

// Conversion between UTF-8 and code points, one char32_t each. A byte that belongs to no valid
// UTF-8 character becomes U+FFFD.
std::u32string characters_of(std::string_view utf8);
std::string utf8_of(std::u32string_view characters);

// The same results as Python's str.lower(), str.isspace() and the regular expression \w, for every
// Unicode character. Lower case may be longer: İ becomes i and a dot; Σ becomes σ or, at the end of
// a word, ς.
std::u32string lower_case(std::u32string_view text);
bool is_space(char32_t c);
bool is_word(char32_t c);  // letters, digits, underscore

}  // namespace convseq
