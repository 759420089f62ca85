#include "convseq/data/objective/span_corruption.h"

#include <gtest/gtest.h>

#include <map>

#include "data/objective/objective_table.h"

namespace convseq {
namespace {

using testing::kObjectiveVocabulary;
using testing::made_by;
using testing::random_segment;
using testing::spans_of;

}  // namespace

TEST(SpanCorruption, CountsAreThoseOfTheFormula) {
  struct Case {
    int64_t length, noise, spans;
  };
  // round(0.15 L) and round(noise / 3), halves to even: 0.15 · 10 = 1.5 gives 2, 0.15 · 30 = 4.5
  // gives 4; at least one of each where there are two tokens.
  for (const auto& [length, noise, spans] :
       {Case{1, 0, 0}, Case{2, 1, 1}, Case{3, 1, 1}, Case{10, 2, 1}, Case{30, 4, 1},
        Case{100, 15, 5}, Case{512, 77, 26}, Case{568, 85, 28}, Case{2000, 300, 100},
        Case{2048, 307, 100}, Case{8192, 1229, 100}}) {
    const SpanCorruption corruption(kObjectiveVocabulary);
    EXPECT_EQ(corruption.counts(length).noise, noise) << length;
    EXPECT_EQ(corruption.counts(length).spans, spans) << length;
    std::vector<int32_t> segment(static_cast<size_t>(length), 7);
    const Example example = made_by(corruption, segment, 0);
    EXPECT_EQ(std::ssize(spans_of(example.target)), spans) << length;
    EXPECT_EQ(std::ssize(example.source), length - noise + spans + 1) << length;
    EXPECT_EQ(std::ssize(example.target), noise + spans + 1) << length;
    EXPECT_EQ(corruption.lengths(length).source, std::ssize(example.source)) << length;
    EXPECT_EQ(corruption.lengths(length).target, std::ssize(example.target)) << length;
  }
}

TEST(SpanCorruption, FillsTheLengthsOfT5) {
  const SpanCorruption corruption(kObjectiveVocabulary);
  EXPECT_EQ(corruption.segment_length({512, 114}), 568);
  EXPECT_EQ(corruption.lengths(568), (ExampleLengths{512, 114}));
  EXPECT_EQ(corruption.segment_length({512, 1 << 20}), 568);  // the source alone decides
  EXPECT_EQ(corruption.segment_length({1 << 20, 114}), 569);  // 0.15 · 569 still rounds to 85
}

TEST(SpanCorruption, TextComesFirstNoiseLastAndSentinelsDescend) {
  const SpanCorruption corruption(kObjectiveVocabulary);
  Random random(3);
  for (uint64_t i = 0; i < 100; ++i) {
    const Example example = made_by(corruption, random_segment(random, 568), i);
    EXPECT_FALSE(kObjectiveVocabulary.is_sentinel(example.source.front()));
    EXPECT_TRUE(kObjectiveVocabulary.is_sentinel(example.source[example.source.size() - 2]));
    int32_t expected = 32099;
    bool after_sentinel = false;
    for (const int32_t id : example.source) {
      if (kObjectiveVocabulary.is_sentinel(id)) {
        EXPECT_EQ(id, expected--);
      }
      EXPECT_FALSE(after_sentinel && kObjectiveVocabulary.is_sentinel(id))
          << "no text between two spans";
      after_sentinel = kObjectiveVocabulary.is_sentinel(id);
    }
    EXPECT_EQ(expected, 32099 - 28);
  }
}

TEST(SpanCorruption, SpanLengthsAreThoseOfAUniformCut) {
  // 85 noise tokens cut into 28 spans, all ways alike: a span is of length n with probability
  // C(84 - n, 26) / C(84, 27): 27/84 for one token, and (58 - n)/(84 - n) of it for one more.
  const SpanCorruption corruption(kObjectiveVocabulary);
  Random random(4);
  std::map<size_t, double> counted;
  constexpr int kSegments = 4000;
  const auto segment = random_segment(random, 568);
  for (uint64_t i = 0; i < kSegments; ++i) {
    for (const auto& [sentinel, span] : spans_of(made_by(corruption, segment, i).target)) {
      counted[span.size()] += 1.0 / (kSegments * 28);
    }
  }
  double expected = 27.0 / 84.0;
  for (size_t n = 1; n <= 12; ++n) {
    EXPECT_NEAR(counted[n], expected, 0.005 + 0.02 * expected) << "spans of " << n;
    expected *= static_cast<double>(58 - n) / static_cast<double>(84 - n);
  }
}

TEST(SpanCorruption, FingerprintIsTheOneThatCheckpointsHold) {
  EXPECT_EQ(SpanCorruption(kObjectiveVocabulary).fingerprint(), "span corruption 0.15 3 32000");
}

TEST(SpanCorruption, SaysWhereSpansHadToBeLengthened) {
  const SpanCorruption corruption(kObjectiveVocabulary);
  EXPECT_EQ(corruption.describe(568),
            "span corruption: 85 of 568 tokens in 28 spans, source 512, target 114");
  EXPECT_NE(corruption.describe(8192).find(
                "410 spans wanted, lengthened from 3 to 12.29 tokens to fit 100"),
            std::string::npos)
      << corruption.describe(8192);
}

}  // namespace convseq
