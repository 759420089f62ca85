#include "convseq/data/corpus/shuffled_segments.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "convseq/data/corpus/shard/shard_groups.h"
#include "convseq/data/corpus/text_groups.h"
#include "data/corpus/small_corpus.h"

namespace convseq {
namespace {

using testing::message_of;
using testing::small_tokenizer;
using testing::TempFolder;
using testing::write_small_corpus;

constexpr int64_t kLength = 40;

enum class Form { Shards, Text };

std::vector<int32_t> sorted(std::vector<int32_t> ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

// Both forms of a corpus keep the same promises.
class Segments : public ::testing::TestWithParam<Form> {
 protected:
  ShuffledSegments open(SegmentCursor start = {}, uint64_t seed = 1, size_t threads = 1) const {
    std::unique_ptr<SegmentGroups> groups;
    if (GetParam() == Form::Shards) {
      groups = std::make_unique<ShardGroups>(
          TokenCorpus(folder / "shards"),
          ShardGroupsOptions{
              .segment_length = kLength, .block_segments = 16, .group_blocks = 8, .seed = seed});
    } else {
      groups = std::make_unique<TextGroups>(
          expand_corpus(corpus), tokenizer,
          TextGroupsOptions{
              .segment_length = kLength, .group_bytes = 100'000, .threads = threads, .seed = seed});
    }
    return {std::move(groups), seed, start};
  }

  // The segments of one epoch, from its beginning.
  std::vector<std::vector<int32_t>> epoch(int64_t number, uint64_t seed = 1) const {
    ShuffledSegments segments = open({.group = {.epoch = number}}, seed);
    std::vector<std::vector<int32_t>> all;
    while (true) {
      std::vector<int32_t> segment;
      if (segments.next(segment).group.epoch != number) return all;
      all.push_back(std::move(segment));
    }
  }

  TempFolder folder;
  Tokenizer tokenizer = small_tokenizer(folder);
  std::string corpus = write_small_corpus(folder, 3, 220);
  ShardManifest manifest = tokenize_corpus(
      tokenizer,
      {.corpus = corpus, .out = folder / "shards", .shard_tokens = 17'000, .progress = false});
};

TEST_P(Segments, AnEpochHoldsEveryTokenOnce) {
  std::vector<int32_t> expected(static_cast<size_t>(manifest.tokens()));
  TokenCorpus(folder / "shards").read(0, expected);
  for (const int64_t number : {0, 1}) {
    std::vector<int32_t> all;
    int64_t shorter = 0;
    for (const auto& segment : epoch(number)) {
      shorter += std::ssize(segment) < kLength ? 1 : 0;
      all.insert(all.end(), segment.begin(), segment.end());
    }
    EXPECT_EQ(sorted(all), sorted(expected));
    EXPECT_LE(shorter, GetParam() == Form::Shards ? 1 : 10) << "one a group of raw text";
  }
}

TEST_P(Segments, ComeInAnotherOrderEachEpochAndSeed) {
  const auto first = epoch(0);
  EXPECT_EQ(first, epoch(0));
  EXPECT_NE(first, epoch(1));
  EXPECT_NE(first, epoch(0, 2));
}

TEST_P(Segments, ContinueTheSameFromEveryCursor) {
  ShuffledSegments segments = open();
  std::vector<std::pair<SegmentCursor, std::vector<int32_t>>> walked;
  for (int i = 0; i < 5000; ++i) {  // several groups and epochs
    walked.emplace_back(segments.cursor(), std::vector<int32_t>{});
    segments.next(walked.back().second);
  }
  EXPECT_GT(segments.cursor().group.epoch, 1);
  Random random(8);
  for (int trial = 0; trial < 12; ++trial) {
    const size_t at = random.below(walked.size() - 300);
    ShuffledSegments restored = open(walked[at].first, 1, 1 + random.below(3));
    for (size_t i = at; i < at + 300; ++i) {
      std::vector<int32_t> segment;
      if (random.below(2) == 0) {
        restored.skip();
        continue;
      }
      restored.next(segment);
      ASSERT_EQ(segment, walked[i].second) << "restored at " << at << ", segment " << i;
    }
  }
}

TEST_P(Segments, NeighboursInTheCorpusAreFarApart) {
  std::vector<int32_t> corpus_ids(static_cast<size_t>(manifest.tokens()));
  TokenCorpus(folder / "shards").read(0, corpus_ids);
  const auto begin_of = [&](const std::vector<int32_t>& segment) {
    return std::search(corpus_ids.begin(), corpus_ids.end(), segment.begin(), segment.end());
  };
  const auto segments = epoch(0);
  int neighbours = 0;
  for (size_t i = 1; i < 200; ++i) {
    if (begin_of(segments[i]) - begin_of(segments[i - 1]) == kLength) ++neighbours;
  }
  EXPECT_LT(neighbours, 10);
}

TEST_P(Segments, RefuseACursorOutsideTheCorpus) {
  ShuffledSegments segments = open({.position = 1 << 30});
  EXPECT_NE(message_of<Error>([&] { segments.skip(); }).find("saved for another corpus"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Of, Segments, ::testing::Values(Form::Shards, Form::Text),
                         [](const auto& form) {
                           return form.param == Form::Shards ? "Shards" : "Text";
                         });

}  // namespace convseq
