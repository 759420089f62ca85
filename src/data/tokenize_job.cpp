#include "data/tokenize_job.h"

#include <chrono>
#include <utility>

#include "base/log.h"
#include "base/progress.h"
#include "data/token_shard_writer.h"
#include "data/tokenized_documents.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

std::vector<ShardManifest::Input> describe(const std::vector<fs::path>& files) {
  std::vector<ShardManifest::Input> inputs;
  for (const fs::path& file : files) {
    const bool sized = fs::is_regular_file(file);  // standard input is not
    inputs.push_back({file.string(), sized ? static_cast<int64_t>(fs::file_size(file)) : 0});
  }
  return inputs;
}

// The manifest to go on with: a new one, or that of the same job, stopped.
ShardManifest open_manifest(const Tokenizer& tokenizer, const TokenizeOptions& options,
                            std::vector<ShardManifest::Input> corpus) {
  if (ShardManifest::is_in(options.out)) {
    ShardManifest found = ShardManifest::load(options.out);
    const auto same = [&](bool holds, const char* what) {
      require(holds, "{}: holds shards made {}; remove it or choose another folder",
              options.out.string(), what);
    };
    same(found.tokenizer == tokenizer.fingerprint(), "with another tokenizer");
    same(found.corpus == corpus, "from another corpus");
    same(found.shard_tokens == options.shard_tokens, "with another size of shards");
    return found;
  }
  fs::create_directories(options.out);
  return {.tokenizer = tokenizer.fingerprint(),
          .pieces = tokenizer.vocabulary().pieces(),
          .shard_tokens = options.shard_tokens,
          .corpus = std::move(corpus)};
}

// How much of the corpus is read, with docs/s, MB/s of text and the time left.
class TokenizeProgress {
 public:
  TokenizeProgress(const std::vector<ShardManifest::Input>& corpus, bool shown)
      : start_(std::chrono::steady_clock::now()) {
    int64_t total = 0;
    for (const auto& input : corpus)
      bytes_before_.push_back(std::exchange(total, total + input.bytes));
    if (shown)
      bar_.emplace(ProgressOptions{.label = "tokenize", .total = total / kMega, .unit = "MB"});
  }

  void update(const TokenizedChunk& chunk) {
    documents_ += std::ssize(chunk.document_ends);
    text_bytes_ += chunk.text_bytes;
    if (!bar_) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    const auto per_second = [&](int64_t count) {
      return static_cast<double>(count) / passed.count();
    };
    const int64_t read = bytes_before_[static_cast<size_t>(chunk.end.file)] + chunk.file_position;
    bar_->update(read / kMega,
                 fmt::format("{:.0f} docs/s  {:.1f} MB/s of text", per_second(documents_),
                             per_second(text_bytes_) / kMega));
  }

 private:
  static constexpr int64_t kMega = 1'000'000;
  std::chrono::steady_clock::time_point start_;
  std::vector<int64_t> bytes_before_;  // each file of the corpus
  std::optional<Progress> bar_;
  int64_t documents_ = 0;
  int64_t text_bytes_ = 0;
};

void add_documents(TokenShardWriter& shard, const TokenizedChunk& chunk) {
  size_t begin = 0;
  for (const size_t end : chunk.document_ends) {
    shard.add(std::span(chunk.ids).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

ShardManifest tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  const std::vector<fs::path> files = expand_corpus(options.corpus);
  ShardManifest manifest = open_manifest(tokenizer, options, describe(files));
  if (manifest.complete) return manifest;
  if (!manifest.shards.empty()) {
    log::info("{}: going on after {} shards, {} documents", options.out.string(),
              manifest.shards.size(), manifest.documents());
  }
  const int64_t bad_before = manifest.bad_lines;
  BadLines bad_lines(options.on_bad_line);
  TokenizedDocuments documents(
      files, tokenizer,
      {.threads = options.threads,
       .reader = {.field = options.field, .lines = {.bad_lines = &bad_lines}}},
      manifest.next);
  TokenizeProgress progress(manifest.corpus, options.progress);

  std::optional<TokenizedChunk> chunk = documents.next();
  while (chunk && !options.stop()) {
    const std::string name = fmt::format("{:05}.tokens", manifest.shards.size());
    TokenShardWriter shard(options.out / name, tokenizer.vocabulary(), manifest.tokenizer);
    DocumentPlace end;
    int64_t bad = 0;
    for (; chunk && shard.tokens() < options.shard_tokens; chunk = documents.next()) {
      if (options.stop()) return manifest;
      add_documents(shard, *chunk);
      progress.update(*chunk);
      end = chunk->end;
      bad = chunk->bad_lines;
    }
    shard.commit();
    manifest.shards.push_back({name, shard.documents(), shard.tokens()});
    manifest.next = end;
    manifest.bad_lines = bad_before + (chunk ? bad : bad_lines.skipped());
    manifest.complete = !chunk;
    manifest.save(options.out);
  }
  require(!manifest.shards.empty(), "{}: the corpus holds no document", options.corpus);
  if (bad_lines.skipped() > 0) log::warning("{}", bad_lines.summary());
  return manifest;
}

}  // namespace convseq
