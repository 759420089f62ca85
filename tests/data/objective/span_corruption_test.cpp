#include "convseq/data/objective/span_corruption.h"

#include <gtest/gtest.h>

#include <map>

namespace convseq {
namespace {

const Vocabulary kVocabulary(32000);

std::vector<int32_t> random_segment(Random& random, size_t length) {
  std::vector<int32_t> segment(length);
  for (int32_t& id : segment) id = static_cast<int32_t>(1 + random.below(31999));
  return segment;
}

Example corrupt(const SpanCorruption& corruption, const std::vector<int32_t>& segment,
                uint64_t key) {
  Example example;
  Random random(5, {key});
  corruption.make(segment, random, example);
  return example;
}

// The spans of a target: what follows each sentinel, up to the next one or the closing EOS.
std::map<int32_t, std::vector<int32_t>> spans_of(const std::vector<int32_t>& target) {
  std::map<int32_t, std::vector<int32_t>> spans;
  int32_t sentinel = -1;
  for (size_t i = 0; i + 1 < target.size(); ++i) {
    if (kVocabulary.is_sentinel(target[i])) {
      sentinel = target[i];
      spans[sentinel];
    } else {
      spans[sentinel].push_back(target[i]);
    }
  }
  return spans;
}

std::vector<int32_t> restore(const Example& example) {
  const auto spans = spans_of(example.target);
  std::vector<int32_t> segment;
  for (size_t i = 0; i + 1 < example.source.size(); ++i) {
    const int32_t id = example.source[i];
    if (kVocabulary.is_sentinel(id)) {
      segment.insert(segment.end(), spans.at(id).begin(), spans.at(id).end());
    } else {
      segment.push_back(id);
    }
  }
  return segment;
}

}  // namespace

TEST(SpanCorruption, SourceAndTargetGiveBackTheSegment) {
  Random random(1);
  for (uint64_t i = 0; i < 10'000; ++i) {
    const SpanCorruption corruption(kVocabulary,
                                    {.noise_density = 0.05 + 0.9 * random.uniform(),
                                     .mean_span_length = 1.0 + 9.0 * random.uniform()});
    const auto segment = random_segment(random, 1 + random.below(1500));
    const Example example = corrupt(corruption, segment, i);
    ASSERT_EQ(restore(example), segment) << "segment " << i << " of " << segment.size();
    ASSERT_EQ(example.source.back(), Vocabulary::kEos);
    ASSERT_EQ(example.target.back(), Vocabulary::kEos);
  }
}

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
    const SpanCorruption corruption(kVocabulary);
    EXPECT_EQ(corruption.counts(length).noise, noise) << length;
    EXPECT_EQ(corruption.counts(length).spans, spans) << length;
    std::vector<int32_t> segment(static_cast<size_t>(length), 7);
    const Example example = corrupt(corruption, segment, 0);
    EXPECT_EQ(std::ssize(spans_of(example.target)), spans) << length;
    EXPECT_EQ(std::ssize(example.source), length - noise + spans + 1) << length;
    EXPECT_EQ(std::ssize(example.target), noise + spans + 1) << length;
    EXPECT_EQ(corruption.lengths(length).source, std::ssize(example.source)) << length;
    EXPECT_EQ(corruption.lengths(length).target, std::ssize(example.target)) << length;
  }
}

TEST(SpanCorruption, FillsTheLengthsOfT5) {
  const SpanCorruption corruption(kVocabulary);
  EXPECT_EQ(corruption.segment_length({512, 114}), 568);
  EXPECT_EQ(corruption.lengths(568), (ExampleLengths{512, 114}));
  EXPECT_EQ(corruption.segment_length({512, 1 << 20}), 568);  // the source alone decides
  EXPECT_EQ(corruption.segment_length({1 << 20, 114}), 569);  // 0.15 · 569 still rounds to 85
}

TEST(SpanCorruption, TheLongestSegmentThatFitsIsFoundForAnyLengths) {
  for (const double density : {0.15, 0.3, 0.5}) {
    for (const double span : {1.0, 3.0, 10.0}) {
      const SpanCorruption corruption(kVocabulary,
                                      {.noise_density = density, .mean_span_length = span});
      for (int64_t source = 8; source < 2500; source += 83) {
        const int64_t length = corruption.segment_length({source, source});
        const auto fits = [&](int64_t tried) {
          const ExampleLengths needed = corruption.lengths(tried);
          return needed.source <= source && needed.target <= source;
        };
        EXPECT_TRUE(fits(length) && !fits(length + 1)) << density << " " << span << " " << source;
      }
    }
  }
}

TEST(SpanCorruption, TextComesFirstNoiseLastAndSentinelsDescend) {
  const SpanCorruption corruption(kVocabulary);
  Random random(3);
  for (uint64_t i = 0; i < 100; ++i) {
    const Example example = corrupt(corruption, random_segment(random, 568), i);
    EXPECT_FALSE(kVocabulary.is_sentinel(example.source.front()));
    EXPECT_TRUE(kVocabulary.is_sentinel(example.source[example.source.size() - 2]));
    int32_t expected = 32099;
    bool after_sentinel = false;
    for (const int32_t id : example.source) {
      if (kVocabulary.is_sentinel(id)) {
        EXPECT_EQ(id, expected--);
      }
      EXPECT_FALSE(after_sentinel && kVocabulary.is_sentinel(id)) << "no text between two spans";
      after_sentinel = kVocabulary.is_sentinel(id);
    }
    EXPECT_EQ(expected, 32099 - 28);
  }
}

TEST(SpanCorruption, SpanLengthsAreThoseOfAUniformCut) {
  // 85 noise tokens cut into 28 spans, all ways alike: a span is of length n with probability
  // C(84 - n, 26) / C(84, 27): 27/84 for one token, and (58 - n)/(84 - n) of it for one more.
  const SpanCorruption corruption(kVocabulary);
  Random random(4);
  std::map<size_t, double> counted;
  constexpr int kSegments = 4000;
  const auto segment = random_segment(random, 568);
  for (uint64_t i = 0; i < kSegments; ++i) {
    for (const auto& [sentinel, span] : spans_of(corrupt(corruption, segment, i).target)) {
      counted[span.size()] += 1.0 / (kSegments * 28);
    }
  }
  double expected = 27.0 / 84.0;
  for (size_t n = 1; n <= 12; ++n) {
    EXPECT_NEAR(counted[n], expected, 0.005 + 0.02 * expected) << "spans of " << n;
    expected *= static_cast<double>(58 - n) / static_cast<double>(84 - n);
  }
}

TEST(SpanCorruption, SaysWhereSpansHadToBeLengthened) {
  const SpanCorruption corruption(kVocabulary);
  EXPECT_EQ(corruption.describe(568),
            "span corruption: 85 of 568 tokens in 28 spans, source 512, target 114");
  EXPECT_NE(corruption.describe(8192).find(
                "410 spans wanted, lengthened from 3 to 12.29 tokens to fit 100"),
            std::string::npos)
      << corruption.describe(8192);
}

}  // namespace convseq
