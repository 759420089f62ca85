#include "convseq/data/shape_ladder.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <optional>

#include "convseq/base/random.h"

namespace convseq {
namespace {

// Of all ladders with as many source and target widths, the columns that the best one adds.
int64_t least_added(const std::vector<int64_t>& occurring, const std::vector<int64_t>& widths,
                    size_t count) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (uint32_t chosen = 0; chosen < (1U << occurring.size()); ++chosen) {
    if (std::popcount(chosen) != static_cast<int>(count)) continue;
    int64_t added = 0;
    bool holds_all = true;
    for (const int64_t width : widths) {
      std::optional<int64_t> fit;
      for (size_t i = 0; i < occurring.size() && !fit; ++i) {
        if ((chosen >> i & 1U) != 0 && occurring[i] >= width) fit = occurring[i];
      }
      holds_all = holds_all && fit;
      added += fit.value_or(width) - width;
    }
    if (holds_all) least = std::min(least, added);
  }
  return least;
}

TEST(ShapeLadder, FindsTheWidthsThatAddLeast) {
  const std::vector<int64_t> occurring = {3, 4, 7, 8, 12, 13, 20, 31};
  Random random(5);
  std::vector<BatchShape> batches;
  std::vector<int64_t> widths;
  for (int i = 0; i < 60; ++i) {
    widths.push_back(i < 8 ? occurring[static_cast<size_t>(i)] : occurring[random.below(8)]);
    batches.push_back({.rows = 4, .source = widths.back(), .target = 1});
  }
  for (const int64_t shapes : {1, 2, 3, 5, 8}) {
    const ShapeLadder ladder(batches, {.max_shapes = shapes, .max_padding = 0});
    EXPECT_EQ(ladder.shapes(), shapes);
    int64_t added = 0;
    for (const BatchShape& batch : batches) added += ladder.fit(batch).source - batch.source;
    EXPECT_EQ(added, least_added(occurring, widths, static_cast<size_t>(shapes))) << shapes;
  }
}

TEST(ShapeLadder, HasNoMoreShapesThanThePaddingAsksFor) {
  std::vector<BatchShape> batches;
  for (int64_t width = 10; width < 60; ++width) {
    batches.push_back({.rows = 32, .source = width, .target = width % 3 + 1});
  }
  int64_t shapes = 1000;
  for (const double share : {0.02, 0.05, 0.1, 0.3, 1.0}) {
    const ShapeLadder ladder(batches, {.max_shapes = 100, .max_padding = share});
    EXPECT_LE(ladder.padding_share(), share);
    EXPECT_LE(ladder.shapes(), shapes);
    shapes = ladder.shapes();
  }
  EXPECT_EQ(shapes, 1);
}

TEST(ShapeLadder, HoldsEveryBatch) {
  const std::vector<BatchShape> batches = {{32, 10, 2}, {32, 17, 3}, {7, 40, 2}};
  const ShapeLadder ladder(batches, {.max_shapes = 2});
  for (const BatchShape& batch : batches) {
    const BatchShape fit = ladder.fit(batch);
    EXPECT_EQ(fit.rows, 32);
    EXPECT_GE(fit.source, batch.source);
    EXPECT_GE(fit.target, batch.target);
    EXPECT_EQ(ladder.fit(fit), fit);
  }
}

TEST(ShapeLadder, LeavesWhatItDoesNotHold) {
  const BatchShape wide{.rows = 4, .source = 99, .target = 2};
  const std::vector<BatchShape> batches = {{4, 10, 2}};
  EXPECT_EQ(ShapeLadder(batches, {}).fit(wide), wide);
  EXPECT_EQ(ShapeLadder({}, {}).fit(wide), wide);
  EXPECT_EQ(ShapeLadder().fit(wide), wide);
}

}  // namespace
}  // namespace convseq
