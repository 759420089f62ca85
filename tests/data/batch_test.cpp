#include "convseq/data/batch.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/data/batch_plan.h"
#include "convseq/data/rank_rows.h"

namespace convseq {
namespace {

std::vector<ExampleLengths> random_lengths(size_t count) {
  Random random(2);
  std::vector<ExampleLengths> lengths(count);
  for (auto& each : lengths) {
    each.source = static_cast<int64_t>(2 + random.below(random.below(10) == 0 ? 400 : 60));
    each.target = static_cast<int64_t>(2 + random.below(5));
  }
  return lengths;
}

ExampleLengths width_of(const std::vector<int64_t>& batch,
                        const std::vector<ExampleLengths>& lengths) {
  ExampleLengths width;
  for (const int64_t example : batch) {
    width.source = std::max(width.source, lengths[static_cast<size_t>(example)].source);
    width.target = std::max(width.target, lengths[static_cast<size_t>(example)].target);
  }
  return width;
}

}  // namespace

TEST(Batch, LaysExamplesSideBySide) {
  const std::vector<Example> examples = {{{5, 6, 1}, {7, 1}}, {{8, 1}, {9, 9, 9, 1}}};
  const Batch batch = make_batch(examples);
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.source_width, 3);
  EXPECT_EQ(batch.target_width, 4);
  EXPECT_EQ(batch.source, (std::vector<int64_t>{5, 6, 1, 8, 1, 0}));
  EXPECT_EQ(batch.target, (std::vector<int64_t>{7, 1, 0, 0, 9, 9, 9, 1}));
  EXPECT_EQ(batch.source_lengths, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(batch.target_lengths, (std::vector<int64_t>{2, 4}));
  EXPECT_DOUBLE_EQ(batch.padding_share(), 3.0 / 14.0);
}

TEST(Batch, CanBeWiderThanItsExamples) {
  const Batch batch = make_batch(std::vector<Example>{{{5, 1}, {1}}}, {4, 2});
  EXPECT_EQ(batch.source, (std::vector<int64_t>{5, 1, 0, 0}));
  EXPECT_EQ(batch.target, (std::vector<int64_t>{1, 0}));
}

TEST(Batch, OfNothingIsEmpty) {
  EXPECT_EQ(make_batch({}).rows, 0);
  EXPECT_EQ(make_batch({}).padding_share(), 0);
}

TEST(Batch, PaddedHoldsTheSameTokens) {
  const std::vector<Example> examples = {{{5, 6, 1}, {7, 1}}, {{8, 1}, {9, 1}, 2.0}};
  const Batch batch = make_batch(examples);
  const Batch wide = padded(batch, {.rows = 4, .source = 5, .target = 3});
  EXPECT_EQ(wide.shape(), (BatchShape{4, 5, 3}));
  EXPECT_EQ(wide.source, (std::vector<int64_t>{5, 6, 1, 0, 0, 8, 1, 0, 0, 0,  //
                                               0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(wide.target, (std::vector<int64_t>{7, 1, 0, 9, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(wide.source_lengths, (std::vector<int64_t>{3, 2, 1, 1}));
  EXPECT_EQ(wide.target_lengths, (std::vector<int64_t>{2, 2, 0, 0}));
  EXPECT_EQ(wide.weights, (std::vector<double>{1, 2, 0, 0}));
  EXPECT_EQ(wide.source_tokens(), batch.source_tokens());
  EXPECT_EQ(wide.target_tokens(), batch.target_tokens());
  EXPECT_EQ(wide.target_weight(), batch.target_weight());
  EXPECT_EQ(padded(wide, wide.shape()), wide);
  EXPECT_THROW(padded(batch, {.rows = 4, .source = 2, .target = 3}), Error);
}

TEST(Batch, PaddedIsCutIntoPartsWithTheSameTokens) {
  const std::vector<Example> examples = {{{5, 6, 1}, {7, 1}}, {{8, 1}, {9, 1}}, {{3, 1}, {1}}};
  const Batch wide = padded(make_batch(examples), {.rows = 6, .source = 4, .target = 2});
  for (const int64_t rows : {1, 2, 4}) {
    int64_t source = 0, target = 0;
    for (const Batch& part : cut_batch(wide, rows)) {
      source += part.source_tokens();
      target += part.target_tokens();
    }
    EXPECT_EQ(source, wide.source_tokens());
    EXPECT_EQ(target, wide.target_tokens());
  }
}

TEST(BatchPlan, HoldsEveryExampleOnceAndKeepsTheBudget) {
  const auto lengths = random_lengths(5000);
  for (const int64_t budget : {100, 4096, 1 << 20}) {
    const BatchPlan plan(lengths, {.tokens = budget}, 0);
    std::vector<int64_t> all;
    for (const auto& batch : plan.batches()) {
      const ExampleLengths width = width_of(batch, lengths);
      EXPECT_TRUE(std::ssize(batch) * (width.source + width.target) <= budget || batch.size() == 1);
      all.insert(all.end(), batch.begin(), batch.end());
    }
    std::sort(all.begin(), all.end());
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<int64_t>(i));
    EXPECT_EQ(all.size(), lengths.size());
  }
}

TEST(BatchPlan, KeepsTheMostRows) {
  const BatchPlan plan(random_lengths(1000), {.tokens = 1 << 20, .max_rows = 32}, 0);
  for (const auto& batch : plan.batches()) EXPECT_LE(batch.size(), 32u);
}

TEST(BatchPlan, PadsLittleWhereItSortsManyBatchesTogether) {
  const auto lengths = random_lengths(5000);
  int64_t used = 0;
  for (const auto& each : lengths) used += each.source + each.target;
  const auto padding_share = [&](const BatchPlan& plan) {
    int64_t places = 0;
    for (const auto& batch : plan.batches()) {
      const ExampleLengths width = width_of(batch, lengths);
      places += std::ssize(batch) * (width.source + width.target);
    }
    return 1.0 - static_cast<double>(used) / static_cast<double>(places);
  };
  EXPECT_LT(padding_share(BatchPlan(lengths, {.tokens = 4096}, 0)), 0.1);
  EXPECT_GT(padding_share(BatchPlan(lengths, {.tokens = 4096, .pool_batches = 1}, 0)), 0.2);
}

TEST(BatchPlan, IsAFunctionOfSeedAndEpoch) {
  const auto lengths = random_lengths(500);
  const auto plan = [&](uint64_t seed, int64_t epoch) {
    return BatchPlan(lengths, {.tokens = 2048, .seed = seed}, epoch).batches();
  };
  EXPECT_EQ(plan(1, 0), plan(1, 0));
  EXPECT_NE(plan(1, 0), plan(1, 1));
  EXPECT_NE(plan(1, 0), plan(2, 0));
}

TEST(RankRows, DivideABatchWithoutOverlapOrLoss) {
  for (const int64_t rows : {1, 7, 64, 128}) {
    for (const int64_t ranks : {1, 2, 3, 8}) {
      int64_t expected = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const RankRows part = rows_of({rank, ranks}, rows);
        EXPECT_EQ(part.begin, expected);
        EXPECT_LE(std::abs((part.end - part.begin) - rows / ranks), 1);
        expected = part.end;
      }
      EXPECT_EQ(expected, rows);
    }
  }
}

}  // namespace convseq
