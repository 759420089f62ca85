#include "convseq/text/characters.h"

#include <gtest/gtest.h>

#include "convseq/base/checksum.h"
#include "convseq/base/file/json_file.h"

namespace convseq {
namespace {

// What `answer` says of every character, against Python's checksums of the same, block by block.
template <class Answer>
void expect_as_in_python(const std::string& name, Answer answer) {
  const Json golden =
      read_json_file(std::filesystem::path(CONVSEQ_SOURCE_DIR) / "tests/goldens/characters.json");
  const auto block = golden.at("block").get<char32_t>();
  const auto sums = golden.at(name).get<std::vector<uint32_t>>();
  ASSERT_EQ(sums.size() * block, 0x110000u);
  for (size_t i = 0; i < sums.size(); ++i) {
    std::string answers;
    const char32_t begin = static_cast<char32_t>(i) * block;
    for (char32_t c = begin; c < begin + block; ++c) {
      if (c < 0xD800 || c > 0xDFFF) answers += answer(c);
    }
    EXPECT_EQ(crc32_of(answers), sums[i]) << name << ", from " << static_cast<uint32_t>(begin);
  }
}

constexpr char32_t kSigma = 0x3A3;

}  // namespace

TEST(Characters, AreTheSameAsInPythonForAllOfUnicode) {
  expect_as_in_python("lower", [](char32_t c) { return utf8_of(lower_case(std::u32string{c})); });
  expect_as_in_python("space", [](char32_t c) { return is_space(c) ? "1" : "0"; });
  expect_as_in_python("word", [](char32_t c) { return is_word(c) ? "1" : "0"; });
}

TEST(Characters, ACapitalSigmaIsFinalWherePythonSaysSo) {
  const auto last = [](const std::u32string& text) {
    return utf8_of(lower_case(text).substr(lower_case(text).size() - 1));
  };
  expect_as_in_python("final_sigma_after", [&](char32_t c) { return last({c, kSigma}); });
  expect_as_in_python("final_sigma_past", [&](char32_t c) { return last({U'A', c, kSigma}); });
  expect_as_in_python("final_sigma_before", [](char32_t c) {
    return utf8_of(lower_case(std::u32string{U'A', kSigma, c}).substr(1, 1));
  });
}

}  // namespace convseq
