#pragma once

#include <optional>
#include <string_view>

namespace convseq {

// The position of the first byte that begins no valid UTF-8 character (RFC 3629: no overlong forms,
// no surrogates, nothing above U+10FFFF), or nothing when all of `text` is valid.
std::optional<size_t> find_invalid_utf8(std::string_view text);

// The longest prefix of at most `bytes` bytes that cuts no character in two.
std::string_view utf8_prefix(std::string_view text, size_t bytes);

}  // namespace convseq
