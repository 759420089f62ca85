#include "convseq/text/sentence_sample.h"

#include <gtest/gtest.h>

#include <map>

#include "convseq/base/utf8.h"

namespace convseq {
namespace {

SentenceSample sample_of_numbers(int numbers, size_t capacity, uint64_t seed) {
  SentenceSample sample(capacity, seed);
  for (int i = 0; i < numbers; ++i) sample.add(std::to_string(i));
  return sample;
}

}  // namespace

TEST(SentenceSample, IsUniform) {
  std::map<std::string, int> drawn;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const SentenceSample sample = sample_of_numbers(50, 10, seed);
    for (const std::string& sentence : sample.sentences()) ++drawn[sentence];
  }
  EXPECT_EQ(drawn.size(), 50u);
  for (const auto& [sentence, count] : drawn) EXPECT_NEAR(count, 400, 90) << sentence;
}

TEST(SentenceSample, IsTheSameForTheSameSeed) {
  EXPECT_EQ(sample_of_numbers(1000, 20, 7).sentences(), sample_of_numbers(1000, 20, 7).sentences());
  EXPECT_NE(sample_of_numbers(1000, 20, 7).sentences(), sample_of_numbers(1000, 20, 8).sentences());
}

TEST(SentenceSample, NeverHoldsMoreThanItsCapacity) {
  const SentenceSample sample = sample_of_numbers(1000, 20, 1);
  EXPECT_EQ(sample.sentences().size(), 20u);
  EXPECT_EQ(sample.seen(), 1000);
}

TEST(SentenceSample, TakesLinesApartAndLosesNothingOfALongOne) {
  SentenceSample sample(1000, 1);
  std::string words;
  for (int i = 0; i < 2000; ++i) words += fmt::format(" wörd{}", i);
  const std::string unbroken = fmt::format("{:é>9000}", "");
  sample.add("one\n\n  \ntwo\n" + words + "\n" + unbroken);
  std::string joined;
  for (const std::string& sentence : sample.sentences()) {
    EXPECT_LE(sentence.size(), SentenceSample::kMaxSentenceBytes);
    EXPECT_FALSE(find_invalid_utf8(sentence));
    joined += sentence;
  }
  EXPECT_EQ(joined, "onetwo" + words + unbroken);
}

}  // namespace convseq
