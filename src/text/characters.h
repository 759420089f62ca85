#pragma once

#include <string>
#include <string_view>

namespace convseq {

// Text as characters, for rules that speak of letters: one char32_t each, and back. A byte that
// belongs to no UTF-8 character stands as U+FFFD.
std::u32string characters_of(std::string_view utf8);
std::string utf8_of(std::u32string_view characters);

// As Python's str.lower(), str.isspace() and \w of its regular expressions have it, for every
// character of Unicode. A text may grow: İ becomes i and a dot; Σ is σ or, at the end of a word, ς.
std::u32string lower_case(std::u32string_view text);
bool is_space(char32_t c);
bool is_word(char32_t c);  // letters, digits, underscore

}  // namespace convseq
