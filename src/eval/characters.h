#pragma once

#include <string>
#include <string_view>

namespace convseq {

// Text as characters, for rules that speak of letters: one char32_t each, and back. A byte that
// belongs to no UTF-8 character stands as U+FFFD.
std::u32string characters_of(std::string_view utf8);
std::string utf8_of(std::u32string_view characters);

// As Python sees them in today's Latin, Greek and Cyrillic; letters of other scripts are words and
// keep their case.
char32_t lower_case(char32_t c);
bool is_space(char32_t c);
bool is_word(char32_t c);  // letters, digits, underscore: \w of a regular expression

}  // namespace convseq
