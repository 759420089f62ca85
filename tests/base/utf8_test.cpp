#include "convseq/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace convseq {
namespace {

std::string encode_utf8(uint32_t c) {
  const auto byte = [](uint32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xC0 | c >> 6), byte(0x80 | (c & 0x3F))};
  if (c < 0x10000) {
    return {byte(0xE0 | c >> 12), byte(0x80 | (c >> 6 & 0x3F)), byte(0x80 | (c & 0x3F))};
  }
  return {byte(0xF0 | c >> 18), byte(0x80 | (c >> 12 & 0x3F)), byte(0x80 | (c >> 6 & 0x3F)),
          byte(0x80 | (c & 0x3F))};
}

}  // namespace

TEST(Utf8, AcceptsEveryCharacterButTheSurrogates) {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    ASSERT_EQ(find_invalid_utf8(encode_utf8(c)).has_value(), surrogate) << std::hex << c;
  }
}

TEST(Utf8, NamesTheFirstInvalidByteWhereverItStands) {
  const std::string ascii(40, 'a');
  for (const std::string bad : {"\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80",
                                "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5", "\xFF", "\xC3",
                                "\xE2\x82", "\xF0\x9F\x98", "\xC3(", "\xE2\x82("}) {
    for (size_t at = 0; at <= ascii.size(); ++at) {
      EXPECT_EQ(find_invalid_utf8(ascii.substr(0, at) + bad + ascii.substr(at)), at);
      EXPECT_EQ(find_invalid_utf8("é" + ascii.substr(0, at) + bad), at + 2);
    }
  }
  EXPECT_FALSE(find_invalid_utf8(""));
  EXPECT_FALSE(find_invalid_utf8(ascii + "é漢😀"));
}

TEST(Utf8, PrefixesCutNoCharacterInTwo) {
  const std::string text = "aé漢😀";
  for (size_t bytes = 0; bytes <= text.size() + 1; ++bytes) {
    const std::string_view prefix = utf8_prefix(text, bytes);
    EXPECT_LE(prefix.size(), bytes);
    EXPECT_GT(prefix.size() + 4, std::min(bytes, text.size()));
    EXPECT_FALSE(find_invalid_utf8(prefix));
  }
}

}  // namespace convseq
