#include "convseq/data/example_stream.h"

#include <gtest/gtest.h>

#include <set>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/data/example_prefetcher.h"
#include "temp_folder.h"

namespace convseq {
namespace {

std::vector<Example> random_examples(int count) {
  Random random(6);
  std::vector<Example> examples(static_cast<size_t>(count));
  for (Example& example : examples) {
    example.source.resize(1 + random.below(50), 9);
    example.target.resize(1 + random.below(4), 8);
  }
  return examples;
}

const auto kExamples = random_examples(300);

std::vector<std::vector<int64_t>> run(ExampleStreamOptions options, int batches,
                                      ExampleCursor start = {}) {
  ExampleStream stream(kExamples, options, start);
  std::vector<std::vector<int64_t>> numbers;
  for (int i = 0; i < batches; ++i) numbers.push_back(stream.next().examples);
  return numbers;
}

}  // namespace

TEST(ExampleStream, AnEpochHoldsEveryExampleOnce) {
  ExampleStream stream(kExamples, {.plan = {.tokens = 500}});
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::multiset<int64_t> seen;
    for (int64_t left = stream.batches(); left > 0; --left) {
      const ExampleBatch batch = stream.next();
      seen.insert(batch.examples.begin(), batch.examples.end());
      EXPECT_EQ(batch.batch.rows, std::ssize(batch.examples));
      EXPECT_EQ(batch.after.epoch, left == 1 ? epoch + 1 : epoch);
    }
    EXPECT_EQ(seen.size(), kExamples.size());
    EXPECT_EQ(*seen.rbegin(), 299);
  }
}

TEST(ExampleStream, GlobalBatchesAreTheSameForAnyRanksAndFromAnyCursor) {
  const ExampleStreamOptions alone{.plan = {.tokens = 500, .seed = 2}};
  const auto expected = run(alone, 80);
  for (const int64_t ranks : {2, 3, 8}) {
    std::vector<std::vector<int64_t>> whole(80);
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const auto part = run({.plan = alone.plan, .rank = {rank, ranks}}, 80);
      for (size_t i = 0; i < 80; ++i)
        whole[i].insert(whole[i].end(), part[i].begin(), part[i].end());
    }
    EXPECT_EQ(whole, expected) << ranks;
  }
  ExampleStream stream(kExamples, alone);
  for (size_t i = 0; i < 75; ++i) {
    EXPECT_EQ(run(alone, 5, stream.next().after),
              std::vector(expected.begin() + static_cast<long>(i) + 1,
                          expected.begin() + static_cast<long>(i) + 6));
  }
}

TEST(ExampleStream, ARunThatBeganUnkeyedGoesOnSo) {
  const ExampleStreamOptions options{.plan = {.tokens = 500, .seed = 2}};
  const ExampleCursor old = ExampleCursor::from_json({Json{{"epoch", 1}, {"batch", 3}}, "cursor"});
  EXPECT_EQ(old.to_json(), (Json{{"epoch", 1}, {"batch", 3}}));
  std::vector<ExampleLengths> lengths;
  for (const Example& example : kExamples) {
    lengths.push_back({std::ssize(example.source), std::ssize(example.target)});
  }
  BatchPlanOptions unkeyed = options.plan;
  unkeyed.unkeyed = true;
  const BatchPlan plan(lengths, unkeyed, 1);
  ExampleStream stream(kExamples, options, old);
  for (size_t i = 3; i < plan.batches().size(); ++i) {
    const ExampleBatch batch = stream.next();
    EXPECT_EQ(batch.examples, plan.batches()[i]);
    EXPECT_EQ(batch.after.version, 1);
  }
  EXPECT_EQ(stream.next().examples, BatchPlan(lengths, unkeyed, 2).batches()[0]);

  ExampleStream fresh(kExamples, options);
  const ExampleBatch first = fresh.next();
  EXPECT_EQ(first.after.to_json()["version"], 2);
  EXPECT_EQ(first.examples, BatchPlan(lengths, options.plan, 0).batches()[0]);
  EXPECT_NE(first.examples, BatchPlan(lengths, unkeyed, 0).batches()[0]);
}

TEST(ExamplePrefetcher, GivesTheBatchesAndCursorsOfTheStream) {
  const ExampleStreamOptions options{.plan = {.tokens = 500, .seed = 2}, .rank = {1, 2}};
  for (const ExampleCursor start : {ExampleCursor{}, ExampleCursor{.epoch = 3, .batch = 7}}) {
    for (const size_t ahead : {1, 5, 1000}) {
      ExampleStream stream(kExamples, options, start);
      ExamplePrefetcher prefetcher(ExampleStream(kExamples, options, start),
                                   {.batches_ahead = ahead});
      for (int64_t left = 2 * stream.batches(); left > 0; --left) {
        const ExampleBatch expected = stream.next(), batch = prefetcher.next();
        EXPECT_EQ(batch.batch, expected.batch);
        EXPECT_EQ(batch.examples, expected.examples);
        EXPECT_EQ(batch.after, expected.after);
      }
    }
  }
}

TEST(ExamplePrefetcher, PadsEveryBatchToAShapeOfTheLadder) {
  ExampleStream stream(kExamples, {.plan = {.tokens = 500}});
  ExamplePrefetcher prefetcher(stream, {.ladder = {{.max_shapes = 3}}});
  const ShapeLadder& ladder = prefetcher.ladder();
  std::set<BatchShape> seen;
  for (int64_t left = stream.batches(); left > 0; --left) {
    const Batch batch = stream.next().batch, wide = prefetcher.next().batch;
    EXPECT_EQ(wide, padded(batch, ladder.fit(batch.shape())));
    seen.insert(wide.shape());
  }
  EXPECT_LE(seen.size(), 3u);
}

TEST(ExampleStream, RefusesNothingToLearnFromAndAStrangersCursor) {
  EXPECT_THROW(ExampleStream({}, {}), Error);
  EXPECT_NE(testing::message_of<Error>([] {
              ExampleStream(kExamples, {}, {.batch = 1 << 20});
            }).find("saved for other examples"),
            std::string::npos);
}

}  // namespace convseq
