#include "convseq/data/corpus/corpus_stream.h"

#include <gtest/gtest.h>

#include <fstream>

#include "convseq/base/checksum.h"
#include "convseq/base/log.h"
#include "convseq/data/corpus/segmenter.h"
#include "convseq/data/corpus/shard/shard_groups.h"
#include "convseq/data/corpus/shard/token_shard_writer.h"
#include "convseq/data/objective/make_objective.h"
#include "data/corpus/small_corpus.h"

namespace convseq {
namespace {

using testing::message_of;
using testing::small_tokenizer;
using testing::TempFolder;
using testing::write_small_corpus;

// Rows under one another, as one batch of the ranks' parts.
void append_rows(Batch& whole, const Batch& part) {
  const auto append = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  whole.rows += part.rows;
  whole.source_width = part.source_width;
  whole.target_width = part.target_width;
  append(whole.source, part.source);
  append(whole.source_lengths, part.source_lengths);
  append(whole.target, part.target);
  append(whole.target_lengths, part.target_lengths);
}

Json to_json(const Batch& batch) {
  return {{"rows", batch.rows},
          {"source_width", batch.source_width},
          {"target_width", batch.target_width},
          {"source", batch.source},
          {"source_lengths", batch.source_lengths},
          {"target", batch.target},
          {"target_lengths", batch.target_lengths}};
}

}  // namespace

class Stream : public ::testing::Test {
 protected:
  Stream() {
    log::set_level(log::Level::Warning);
    tokenize_corpus(
        tokenizer,
        {.corpus = corpus, .out = folder / "shards", .shard_tokens = 20'000, .progress = false});
    options = {.corpora = {{shards, 2.0}, {corpus, 1.0}},  // token shards and raw text, mixed
               .batch_rows = 24,
               .room = {32, 8},
               .seed = 3};
  }

  CorpusStream open(const CorpusStreamOptions& with, const StreamCursor& start = {}) const {
    return {tokenizer, make_objective(objective, tokenizer.vocabulary()), with, start};
  }

  std::vector<StreamBatch> run(const CorpusStreamOptions& with, int batches,
                               const StreamCursor& start = {}) const {
    CorpusStream stream = open(with, start);
    std::vector<StreamBatch> all;
    for (int i = 0; i < batches; ++i) all.push_back(stream.next());
    return all;
  }

  // Global batches put together from all ranks.
  std::vector<StreamBatch> run_ranks(int64_t ranks, size_t threads, int batches,
                                     const StreamCursor& start = {}) const {
    std::vector<StreamBatch> whole(static_cast<size_t>(batches));
    for (int64_t rank = 0; rank < ranks; ++rank) {
      CorpusStreamOptions with = options;
      with.rank = {rank, ranks};
      with.threads = threads;
      const std::vector<StreamBatch> part = run(with, batches, start);
      for (size_t i = 0; i < whole.size(); ++i) {
        append_rows(whole[i].batch, part[i].batch);
        whole[i].after = part[i].after;
      }
    }
    return whole;
  }

  void expect_same(const std::vector<StreamBatch>& got, const std::vector<StreamBatch>& expected,
                   size_t at, const std::string& what) const {
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].batch, expected[at + i].batch) << what << ", batch " << at + i;
      ASSERT_EQ(got[i].after, expected[at + i].after) << what << ", batch " << at + i;
    }
  }

  TempFolder folder;
  Tokenizer tokenizer = small_tokenizer(folder);
  std::string corpus = write_small_corpus(folder, 3, 50);
  std::string shards = (folder / "shards").string();
  CorpusStreamOptions options;
  ObjectiveOptions objective;
};

TEST_F(Stream, GlobalBatchesOfEveryObjectiveAreTheSameForAnyRanks) {
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    objective.kind = kind;
    const std::vector<StreamBatch> alone = run(options, 20);
    expect_same(run_ranks(3, 2, 20), alone, 0, std::string(name));
    expect_same(run(options, 9, alone[10].after), alone, 11, std::string(name));
    for (const StreamBatch& each : alone) {
      EXPECT_LE(each.batch.source_width, options.room.source) << name;
      EXPECT_LE(each.batch.target_width, options.room.target) << name;
      EXPECT_EQ(each.batch.source_width, alone[0].batch.source_width) << name;
      EXPECT_EQ(each.batch.target_width, alone[0].batch.target_width) << name;
    }
  }
}

TEST_F(Stream, GlobalBatchesAreTheSameForAnyRanksAndThreads) {
  const std::vector<StreamBatch> alone = run(options, 60);
  EXPECT_GE(alone.back().after.corpora[0].group.epoch, 1) << "more than an epoch is compared";
  for (const int64_t ranks : {1, 2, 3, 8}) {
    for (const size_t threads : {1, 4}) {
      expect_same(run_ranks(ranks, threads, 60), alone, 0,
                  fmt::format("{} ranks, {} threads", ranks, threads));
    }
  }
}

TEST_F(Stream, RanksMayChangeAtAnyBatch) {
  const std::vector<StreamBatch> alone = run(options, 60);
  StreamCursor cursor;
  Random random(4);
  for (size_t at = 0; at < 60;) {
    const int batches = static_cast<int>(std::min<uint64_t>(1 + random.below(12), 60 - at));
    const auto ranks = static_cast<int64_t>(1 + random.below(8));
    const auto part = run_ranks(ranks, 1 + random.below(3), batches, cursor);
    expect_same(part, alone, at, fmt::format("{} ranks", ranks));
    cursor = part.back().after;
    at += static_cast<size_t>(batches);
  }
}

TEST_F(Stream, ContinuesTheSameFromASavedCursor) {
  const std::vector<StreamBatch> alone = run(options, 60);
  Random random(5);
  for (int trial = 0; trial < 10; ++trial) {
    const size_t at = random.below(50);
    const Json saved = alone[at].after.to_json();
    const auto cursor = StreamCursor::from_json({parse_json(saved.dump(), "saved"), "saved"});
    EXPECT_EQ(cursor, alone[at].after);
    expect_same(run(options, 9, cursor), alone, at + 1, "restored");
  }
}

TEST_F(Stream, BatchesHaveOneShape) {
  for (const StreamBatch& each : run(options, 30)) {
    EXPECT_EQ(each.batch.rows, 24);
    EXPECT_EQ(each.batch.source_width, 32);
    EXPECT_EQ(each.batch.target_width, 8);
    EXPECT_LT(each.batch.padding_share(), 0.1);
  }
}

TEST_F(Stream, CorporaAreMixedByWeight) {
  options.batch_rows = 500;
  options.corpora = {{shards, 3.0}, {shards, 1.0}};
  const StreamCursor after = run(options, 8).back().after;
  const auto drawn = [&](size_t corpus_number) {
    const SegmentCursor& cursor = after.corpora[corpus_number];
    const int64_t an_epoch =
        Segmenter{open(options).segment_length()}.count(ShardManifest::load(shards).tokens());
    return cursor.group.epoch * an_epoch + cursor.position;  // one group per epoch here
  };
  EXPECT_EQ(drawn(0) + drawn(1), 4000);
  EXPECT_NEAR(static_cast<double>(drawn(0)), 3000, 110);
}

TEST_F(Stream, RefusesWhatCannotWork) {
  const auto refusal = [&](const std::function<void(CorpusStreamOptions&)>& change,
                           const StreamCursor& start = {}) {
    CorpusStreamOptions with = options;
    change(with);
    return message_of<Error>([&] { open(with, start); });
  };
  const StreamCursor cursor = run(options, 1).back().after;
  using Options = CorpusStreamOptions;
  const std::pair<std::string, std::string> cases[] = {
      {refusal([](Options& with) { with.corpora.clear(); }), "needs a corpus"},
      {refusal([](Options& with) { with.corpora[0].weight = 0; }), "its weight is 0"},
      {refusal([](Options& with) { with.corpora[1].corpus = "/nowhere"; }), "no such file"},
      {refusal([](Options& with) { with.corpora[1].corpus = "-"; }), "convseq tokenize it first"},
      {refusal([](Options& with) { with.rank.count = 25; }), "24 examples for 25 processes"},
      {refusal([](Options& with) {
         with.room = {1, 1};
       }),
       "have no room for any text"},
      {refusal([](Options& with) { with.seed = 4; }, cursor), "another seed"},
      {refusal([](Options& with) { with.corpora.pop_back(); }, cursor), "belongs to other corpora"},
      {refusal(
           [](Options& with) {
             with.room = {64, 16};
           },
           cursor),
       "belongs to other corpora"},
  };
  for (const auto& [message, expected] : cases) {
    EXPECT_NE(message.find(expected), std::string::npos) << expected << ", not: " << message;
  }
}

TEST_F(Stream, RefusesTheCursorOfAnotherObjective) {
  StreamCursor cursor = run(options, 1).back().after;
  const int64_t segment_length = open(options).segment_length();
  const auto refuses = [&] {
    const std::string message = message_of<Error>([&] { open(options, cursor); });
    return message.find("another objective") != message.npos;
  };
  objective.numbers["noise"] = 0.1501;
  ASSERT_EQ(open(options).segment_length(), segment_length);
  EXPECT_TRUE(refuses());
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    if (kind == ObjectiveKind::SpanCorruption) continue;
    objective = {.kind = kind, .numbers = {}};
    for (const int64_t version : {1, 2}) {
      cursor.version = version;
      EXPECT_TRUE(refuses()) << name << ", version " << version;
    }
  }
}

TEST_F(Stream, ACursorThatNamesNoVersionGoesOnByTheRulesItBeganWith) {
  options.corpora = {{shards, 2.0}};
  const int64_t segment_length = open(options).segment_length();
  const ShardGroups groups(TokenCorpus(folder / "shards"),
                           {.segment_length = segment_length, .seed = options.seed});
  const uint32_t unnamed =
      crc32_of(fmt::format("{} {} {}:{}", options.seed, segment_length, groups.fingerprint(), 2.0));
  const std::vector<StreamBatch> all = run(options, 4);
  Json saved = all[0].after.to_json();
  EXPECT_EQ(saved["version"], 2);
  EXPECT_NE(saved["fingerprint"], unnamed);
  saved.erase("version");
  saved["fingerprint"] = unnamed;
  const std::vector<StreamBatch> rest = run(options, 3, StreamCursor::from_json({saved, "saved"}));
  for (size_t i = 0; i < rest.size(); ++i) {
    EXPECT_EQ(rest[i].batch, all[i + 1].batch);
    EXPECT_EQ(rest[i].after.fingerprint, unnamed);
    EXPECT_FALSE(rest[i].after.to_json().contains("version"));
  }
}

TEST_F(Stream, ValidationFilesOfAFolderOfTextAreNoTrainingText) {
  options.corpora = {{corpus, 1.0}};
  const std::vector<StreamBatch> without = run(options, 10);
  folder.file("text/part.validation.jsonl", "{\"text\": \"never to be seen in training\"}\n");
  expect_same(run(options, 10), without, 0, "with validation files beside");
}

TEST_F(Stream, RefusesShardsOfAnotherTokenizer) {
  const Tokenizer other = Tokenizer::load(folder.file(
      "other.model", train_tokenizer({testing::small_document(1), testing::small_document(2)},
                                     {.kind = TokenizerKind::Bpe, .pieces = 290})));
  EXPECT_NE(message_of<Error>([&] {
              CorpusStream(other, make_objective({}, other.vocabulary()), options);
            }).find("another tokenizer"),
            std::string::npos);
}

TEST_F(Stream, ABrokenShardStopsItByName) {
  const auto shard = folder / "shards" / "00000.tokens";
  std::string bytes = read_text_file(shard);
  bytes[1000] ^= 4;
  std::ofstream(shard, std::ios::binary) << bytes;
  const std::string message = message_of<Error>([&] { run(options, 60); });
  EXPECT_EQ(message.find(shard.string() + ": wrong checksum of tokens"), 0u) << message;
}

TEST_F(Stream, ABadLineOfRawTextStopsItByNameOrIsCounted) {
  options.corpora = {{folder.file("bad.jsonl", R"({"text": "Good enough for a start."})"
                                               "\n{\"text\": 7}\n"),
                      1.0}};
  const std::string message = message_of<Error>([&] { run(options, 1); });
  EXPECT_NE(message.find("bad.jsonl:2: "), std::string::npos) << message;
  log::set_level(log::Level::Error);
  BadLines bad_lines(OnBadLine::Skip);
  options.bad_lines = &bad_lines;
  run(options, 1);
  EXPECT_GE(bad_lines.skipped(), 1);
}

TEST_F(Stream, BatchesAreThoseOnRecord) {
  // Ids that count up, so that the record depends on no tokenizer.
  TokenShardWriter writer(folder / "00000.tokens", tokenizer.vocabulary(), tokenizer.fingerprint());
  for (int32_t i = 0; i < 20; ++i) {
    std::vector<int32_t> document;
    for (int32_t k = 0; k < 15 + i; ++k) document.push_back(3 + (i * 10 + k) % 310);
    document.push_back(Vocabulary::kEos);
    writer.add(document);
  }
  writer.commit();
  ShardManifest manifest{.tokenizer = tokenizer.fingerprint(), .complete = true};
  manifest.shards = {{"00000.tokens", writer.documents(), writer.tokens()}};
  manifest.save(folder.path());
  options.corpora = {{folder.path().string(), 1.0}};
  options.batch_rows = 4;

  Json batches = Json::array();
  for (const StreamBatch& each : run(options, 6)) batches.push_back(to_json(each.batch));
  const std::filesystem::path record = CONVSEQ_SOURCE_DIR "/tests/goldens/denoising_batches.json";
  if (std::getenv("CONVSEQ_WRITE_GOLDENS") != nullptr) {
    std::ofstream(record) << batches.dump() << "\n";
  }
  EXPECT_EQ(batches, read_json_file(record));
}

}  // namespace convseq
