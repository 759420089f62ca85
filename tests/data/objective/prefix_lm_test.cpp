#include "convseq/data/objective/prefix_lm.h"

#include <gtest/gtest.h>

#include "data/objective/objective_table.h"

namespace convseq {
namespace {

using testing::kObjectiveVocabulary;
using testing::made_by;

TEST(PrefixLm, LengthsAreThoseOfTheFormula) {
  struct Case {
    int64_t length;
    double min_prefix;
    ExampleLengths most;
    double mean_source;
  };
  for (const auto& [length, min_prefix, most, mean_source] :
       {Case{1, 0.5, {2, 1}, 2}, Case{2, 0.5, {2, 2}, 2}, Case{9, 0.5, {9, 5}, 7.5},
        Case{100, 0, {100, 100}, 51}, Case{100, 0.99, {100, 2}, 100},
        Case{226, 0.5, {226, 114}, 170}}) {
    const PrefixLm objective(kObjectiveVocabulary, {.min_prefix = min_prefix});
    EXPECT_EQ(objective.lengths(length), most) << length;
    EXPECT_EQ(objective.mean_source_length(length), mean_source) << length;
  }
}

TEST(PrefixLm, EveryCutIsEquallyLikely) {
  const PrefixLm objective(kObjectiveVocabulary, {.min_prefix = 0.5});
  const std::vector<int32_t> segment = {11, 12, 13, 14, 15, 16, 17, 18, 19};
  std::map<size_t, double> counted;
  constexpr int kExamples = 20'000;
  for (uint64_t key = 0; key < kExamples; ++key) {
    counted[made_by(objective, segment, key).source.size() - 1] += 1.0 / kExamples;
  }
  EXPECT_EQ(counted.size(), 4u);  // prefixes of 5 to 8 tokens
  for (const auto& [prefix, share] : counted) EXPECT_NEAR(share, 0.25, 0.015) << prefix;
}

TEST(PrefixLm, DescribesItsLengths) {
  const PrefixLm objective(kObjectiveVocabulary);
  EXPECT_EQ(objective.segment_length({512, 114}), 227);
  EXPECT_EQ(objective.describe(227),
            "prefix LM: segments of 227 tokens, source 115 to 227, target 2 to 114");
}

}  // namespace
}  // namespace convseq
