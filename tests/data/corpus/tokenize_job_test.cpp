#include "convseq/data/corpus/shard/tokenize_job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "convseq/base/file/folder_lock.h"
#include "convseq/base/file/json_file.h"
#include "convseq/data/corpus/shard/token_corpus.h"
#include "data/corpus/small_corpus.h"

namespace convseq {
namespace {

using testing::message_of;
using testing::small_document;
using testing::small_tokenizer;
using testing::TempFolder;
using testing::write_small_corpus;

std::string all_shards(const std::filesystem::path& folder) {
  std::string bytes;
  for (const auto& shard : ShardManifest::load(folder).shards) {
    bytes += read_text_file(folder / shard.file);
  }
  return bytes;
}

}  // namespace

class TokenizeJob : public ::testing::Test {
 protected:
  TokenizeOptions options(const std::string& out) const {
    return {.corpus = corpus, .out = folder / out, .shard_tokens = 20'000, .progress = false};
  }

  TempFolder folder;
  Tokenizer tokenizer = small_tokenizer(folder);
  std::string corpus = write_small_corpus(folder, 3, 1000);
};

TEST_F(TokenizeJob, ShardsHoldTheDocumentsInOrder) {
  const ShardManifest manifest = tokenize_corpus(tokenizer, options("out"));
  EXPECT_TRUE(manifest.complete);
  EXPECT_EQ(manifest.documents(), 3000);
  EXPECT_GT(manifest.shards.size(), 2u);
  uint64_t number = 1000;
  for (const auto& listed : manifest.shards) {
    TokenShard shard(folder / "out" / listed.file);
    uint64_t begin = 0;
    for (const uint64_t end : shard.document_ends()) {
      std::vector<int32_t> ids(end - begin);
      shard.read(static_cast<int64_t>(begin), ids);
      EXPECT_EQ(ids.back(), Vocabulary::kEos);
      ids.pop_back();
      ASSERT_EQ(tokenizer.decode(ids), small_document(number++));
      begin = end;
    }
  }
}

TEST_F(TokenizeJob, ShardsAreTheSameForAnyNumberOfThreads) {
  tokenize_corpus(tokenizer, options("one"));
  for (const size_t threads : {2, 5}) {
    TokenizeOptions several = options(fmt::format("with-{}", threads));
    several.threads = threads;
    tokenize_corpus(tokenizer, several);
    EXPECT_EQ(all_shards(several.out), all_shards(folder / "one")) << threads;
  }
}

TEST_F(TokenizeJob, GoesOnWhereItWasStopped) {
  tokenize_corpus(tokenizer, options("whole"));
  TokenizeOptions stopped = options("stopped");
  Random random(1);
  bool complete = false;
  int stops = 0;
  while (!complete) {
    stopped.threads = 1 + random.below(3);
    stopped.stop = [left = 4 + random.below(6)]() mutable { return left-- == 0; };
    complete = tokenize_corpus(tokenizer, stopped).complete;
    stops += complete ? 0 : 1;
    ASSERT_LT(stops, 1000);
  }
  EXPECT_GT(stops, 2);
  EXPECT_EQ(all_shards(folder / "stopped"), all_shards(folder / "whole"));
  EXPECT_EQ(read_text_file(folder / "stopped" / "manifest.json"),
            read_text_file(folder / "whole" / "manifest.json"));
}

TEST_F(TokenizeJob, MayBeStoppedBeforeItsFirstShard) {
  TokenizeOptions stopped = options("stopped");
  stopped.stop = [] { return true; };
  const ShardManifest manifest = tokenize_corpus(tokenizer, stopped);
  EXPECT_FALSE(manifest.complete);
  EXPECT_TRUE(manifest.shards.empty());
}

TEST_F(TokenizeJob, CountsEachBadLineOnceThoughItWasStopped) {
  std::string lines;
  for (uint64_t i = 0; i < 2000; ++i) {
    lines += i % 10 == 0 ? "{broken\n" : Json{{"text", small_document(i)}}.dump() + "\n";
  }
  corpus = folder.file("bad.jsonl", lines);
  TokenizeOptions job = options("out");
  EXPECT_NE(message_of<Error>([&] { tokenize_corpus(tokenizer, job); }).find("bad.jsonl:1: "),
            std::string::npos);
  job.on_bad_line = OnBadLine::Skip;
  job.stop = [left = 10]() mutable { return left-- == 0; };
  EXPECT_FALSE(tokenize_corpus(tokenizer, job).complete);
  job.stop = [] { return false; };
  const ShardManifest manifest = tokenize_corpus(tokenizer, job);
  EXPECT_EQ(manifest.documents(), 1800);
  EXPECT_EQ(manifest.bad_lines, 200);
}

TEST_F(TokenizeJob, DoesNotMixWithAnotherJob) {
  tokenize_corpus(tokenizer, options("out"));
  TokenizeOptions other = options("out");
  other.shard_tokens = 10;
  EXPECT_NE(message_of<Error>([&] { tokenize_corpus(tokenizer, other); }).find("another size"),
            std::string::npos);
  std::ofstream(folder / "text" / "more.txt") << "One more.\n";
  EXPECT_NE(message_of<Error>([&] {
              tokenize_corpus(tokenizer, options("out"));
            }).find("from another corpus"),
            std::string::npos);
}

TEST_F(TokenizeJob, DoesNotTakeShardsOfAnotherFieldOrOfOtherTextOfTheSameSizeForItsOwn) {
  corpus = folder.file("two.jsonl", "{\"text\": \"one river\", \"body\": \"a mill\"}\n");
  tokenize_corpus(tokenizer, options("out"));
  TokenizeOptions other = options("out");
  other.field = "body";
  EXPECT_EQ(message_of<Error>([&] { tokenize_corpus(tokenizer, other); }),
            other.out.string() +
                ": holds shards made of the field text instead of body; remove it "
                "or choose another folder");
  folder.file("two.jsonl", "{\"text\": \"two river\", \"body\": \"a mill\"}\n");
  EXPECT_NE(message_of<Error>([&] {
              tokenize_corpus(tokenizer, options("out"));
            }).find("from another corpus: " + corpus + " has changed"),
            std::string::npos);
}

TEST_F(TokenizeJob, ACopyOfTheCorpusWithANewTimeIsTheSameCorpus) {
  tokenize_corpus(tokenizer, options("out"));
  for (const auto& file : std::filesystem::directory_iterator(corpus)) {
    std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now());
  }
  EXPECT_TRUE(tokenize_corpus(tokenizer, options("out")).complete);
}

TEST_F(TokenizeJob, WhatIsPipedInIsNeverCompleteAlready) {
  const auto pipe_in = [&](const std::string& text) {
    corpus = (folder / "pipe.txt").string();
    ASSERT_EQ(::mkfifo(corpus.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(corpus) << text; });
    const std::string message =
        message_of<Error>([&] { tokenize_corpus(tokenizer, options("out")); });
    if (!message.empty()) std::ifstream(corpus).get();  // lets the writer go
    writer.join();
    std::filesystem::remove(corpus);
    EXPECT_EQ(message.find("cannot be compared") != std::string::npos, text == "again\n")
        << message;
  };
  pipe_in("the river\n");
  pipe_in("again\n");
}

TEST_F(TokenizeJob, TakesShardsWhoseManifestNamesNeitherFieldNorSamples) {
  folder.file("text/part.validation.jsonl", "{\"text\": \"once taken in\"}\n");
  const ShardManifest before = [&] {
    ShardManifest manifest = tokenize_corpus(tokenizer, options("out"));
    const std::string held_out = (folder / "text/part.validation.jsonl").string();
    manifest.corpus.push_back({.file = held_out, .bytes = std::ssize(read_text_file(held_out))});
    return manifest;
  }();
  before.save(folder / "out");
  Json old = read_json_file(folder / "out" / "manifest.json");
  old.erase("field");
  for (Json& input : old["corpus"]) input.erase("modified"), input.erase("sample");
  write_json_file(folder / "out" / "manifest.json", old);

  EXPECT_TRUE(tokenize_corpus(tokenizer, options("out")).complete);
  EXPECT_EQ(TokenCorpus(folder / "out").tokens(), before.tokens());
  TokenizeOptions other = options("out");
  other.field = "body";
  EXPECT_NE(message_of<Error>([&] { tokenize_corpus(tokenizer, other); }), "");
}

TEST(CorpusInput, SeesAChangeInAnyOfItsBlocksAndSaysWhereItCannotKnow) {
  TempFolder folder;
  std::string text(3 << 20, 'x');
  const auto path = folder.file("large.txt", text);
  const CorpusInput before = CorpusInput::describe(path);
  EXPECT_TRUE(before.is_same_file(before));
  EXPECT_FALSE(before.may_have_changed(before));
  for (const size_t at : {size_t{0}, text.size() - 1}) {
    std::string changed = text;
    changed[at] = 'y';
    folder.file("large.txt", changed);
    EXPECT_FALSE(CorpusInput::describe(path).is_same_file(before)) << at;
  }
  text[100'000] = 'y';  // between two blocks
  folder.file("large.txt", text);
  CorpusInput now = CorpusInput::describe(path);
  *now.modified += 1;  // clocks may be coarse
  EXPECT_TRUE(now.is_same_file(before));
  EXPECT_TRUE(now.may_have_changed(before));
}

TEST_F(TokenizeJob, ACorpusOfShardsMustBeWhole) {
  TokenizeOptions job = options("out");
  const ShardManifest manifest = tokenize_corpus(tokenizer, job);
  TokenCorpus whole(job.out);
  EXPECT_EQ(whole.tokens(), manifest.tokens());

  const auto opening = [&] { return message_of<Error>([&] { TokenCorpus corpus_(job.out); }); };
  ShardManifest unfinished = manifest;
  unfinished.complete = false;
  unfinished.save(job.out);
  EXPECT_NE(opening().find("run convseq tokenize again"), std::string::npos) << opening();
  manifest.save(job.out);
  std::filesystem::copy_file(job.out / manifest.shards[0].file, job.out / manifest.shards[1].file,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(opening().find("is not the shard"), std::string::npos) << opening();
  std::filesystem::remove(job.out / manifest.shards[1].file);
  EXPECT_NE(opening().find("cannot open"), std::string::npos) << opening();
}

TEST(TokenizeOutput, IsNoFolderOfSomethingElseAndLocked) {
  TempFolder folder;
  const Tokenizer tokenizer = testing::small_tokenizer(folder);
  const std::string corpus = testing::write_small_corpus(folder, 1, 20);
  std::filesystem::create_directory(folder / "mine");
  folder.file("mine/thesis.tex", "precious");
  const TokenizeOptions mine{.corpus = corpus, .out = folder / "mine", .progress = false};
  EXPECT_NE(message_of<Error>([&] {
              tokenize_corpus(tokenizer, mine);
            }).find(": is not empty and no folder of token shards (it holds thesis.tex); "),
            std::string::npos);
  std::filesystem::create_directory(folder / "out");
  const FolderLock other(folder / "out");
  const TokenizeOptions busy{.corpus = corpus, .out = folder / "out", .progress = false};
  EXPECT_NE(message_of<Error>([&] { tokenize_corpus(tokenizer, busy); }).find("is writing there"),
            std::string::npos);
}

}  // namespace convseq
