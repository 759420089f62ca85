#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace convseq {

// The valid UTF-8 character at the start of a text (RFC 3629: no overlong forms, no surrogates,
// nothing above U+10FFFF).
struct Utf8Character {
  char32_t value = 0;
  size_t bytes = 0;  // 0: no valid character stands there
};
Utf8Character first_character(std::string_view text);

void append_utf8(std::string& text, char32_t character);

// The position of the first byte that begins no valid character, or nothing when all of `text` is
// valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// The longest prefix of at most `bytes` bytes that cuts no character in two.
std::string_view utf8_prefix(std::string_view text, size_t bytes);

}  // namespace convseq
