#include "convseq/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace convseq {
namespace {

bool is_continuation(char byte) { return (static_cast<uint8_t>(byte) & 0xC0) == 0x80; }

}  // namespace

Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  // Leads 80..C1 and F5..FF begin nothing; the second byte's range excludes overlong forms (E0,
  // F0), surrogates (ED) and what lies above U+10FFFF (F4).
  const size_t length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || text.size() < length) return {};
  const uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return {};
  char32_t value = lead & (0x7F >> length);
  for (size_t at = 1; at < length; ++at) {
    if (!is_continuation(text[at])) return {};
    value = value << 6 | (byte(at) & 0x3F);
  }
  return {value, length};
}

void append_utf8(std::string& text, char32_t c) {
  const auto follow = [&](int shift) { text += static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0 | c >> 6);
    follow(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0 | c >> 12);
    follow(6), follow(0);
  } else {
    text += static_cast<char>(0xF0 | c >> 18);
    follow(12), follow(6), follow(0);
  }
}

std::optional<size_t> find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    // Eight bytes of ASCII at a time: most of English text.
    uint64_t word = 0;
    while (at + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + at, sizeof word);
      if ((word & 0x8080808080808080u) != 0) break;
      at += sizeof word;
    }
    if (at == text.size()) break;
    const size_t length = first_character(text.substr(at)).bytes;
    if (length == 0) return at;
    at += length;
  }
  return std::nullopt;
}

std::string_view utf8_prefix(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && is_continuation(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

}  // namespace convseq
