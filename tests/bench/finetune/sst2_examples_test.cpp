#include "convseq/bench/finetune/sst2_examples.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "convseq/text/sentinels.h"

namespace convseq::bench {
namespace {

std::vector<double> source_lengths(int64_t count) {
  std::vector<double> lengths;
  for (const Example& example : sst2_examples(count, 100)) {
    lengths.push_back(static_cast<double>(example.source.size()));
  }
  return lengths;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

}  // namespace

TEST(Sst2Examples, HaveTheLengthsOfTheDataSetHoweverFewTheyAre) {
  for (const int64_t count : {67349, 9600, 320}) {
    const auto lengths = source_lengths(count);
    ASSERT_EQ(std::ssize(lengths), count);
    EXPECT_NEAR(mean(lengths), 19.6, 0.1) << count;
    EXPECT_EQ(lengths[lengths.size() / 2], 16) << count;
    EXPECT_EQ(lengths.front(), 8) << count;
  }
  EXPECT_EQ(source_lengths(67349).back(), 81);
  EXPECT_EQ(source_lengths(1), std::vector<double>{16});
}

TEST(Sst2Examples, AreWordsOfTheVocabularyAndEndInEos) {
  constexpr int32_t kVocabulary = 50;
  for (const Example& example : sst2_examples(500, kVocabulary)) {
    EXPECT_EQ(example.target.size(), 2u);
    for (const auto& side : {example.source, example.target}) {
      EXPECT_EQ(side.back(), Vocabulary::kEos);
      EXPECT_TRUE(std::all_of(side.begin(), side.end() - 1,
                              [](int32_t id) { return id >= 2 && id < kVocabulary; }));
    }
  }
}

}  // namespace convseq::bench
