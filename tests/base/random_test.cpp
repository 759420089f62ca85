#include "convseq/base/random.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace convseq {

TEST(Philox, MatchesThePublishedVectors) {
  // Known answers of the Random123 distribution for philox4x32-10.
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, IsAFunctionOfItsKey) {
  Random first(7, {1, 2}), second(7, {1, 2});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first.bits64(), second.bits64());
}

TEST(Random, KeysThatDifferGiveStreamsThatDiffer) {
  std::set<uint64_t> firsts;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (uint64_t epoch = 0; epoch < 8; ++epoch) {
      for (uint64_t example = 0; example < 8; ++example) {
        firsts.insert(Random(seed, {epoch, example}).bits64());
      }
    }
  }
  EXPECT_EQ(firsts.size(), 8u * 8 * 8);
  EXPECT_NE(Random(1, {0}).bits64(), Random(1).bits64());
  EXPECT_NE(Random(1, {0, 1}).bits64(), Random(1, {1, 0}).bits64());
}

TEST(Random, BelowIsUniform) {
  Random random(3);
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[random.below(7)];
  for (int count : counts) EXPECT_NEAR(count, 10'000, 400);
}

TEST(Random, UniformAndNormalHaveTheirMoments) {
  Random random(5);
  const int draws = 100'000;
  double uniform = 0, normal = 0, square = 0;
  for (int i = 0; i < draws; ++i) {
    const double u = random.uniform(), n = random.normal();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    uniform += u;
    normal += n;
    square += n * n;
  }
  EXPECT_NEAR(uniform / draws, 0.5, 0.005);
  EXPECT_NEAR(normal / draws, 0.0, 0.015);
  EXPECT_NEAR(square / draws, 1.0, 0.02);
}

TEST(Random, ShuffleKeepsEveryItem) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> ordered = items;
  Random(9).shuffle(items);
  EXPECT_NE(items, ordered);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, ordered);
}

}  // namespace convseq
