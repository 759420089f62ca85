#include "convseq/data/corpus/shard/tokenize_job.h"

#include <chrono>
#include <optional>
#include <utility>

#include "convseq/base/counted.h"
#include "convseq/base/file/claimed_folder.h"
#include "convseq/base/log.h"
#include "convseq/base/progress.h"
#include "convseq/data/corpus/shard/token_shard_writer.h"
#include "convseq/data/corpus/shard/tokenized_documents.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

std::vector<CorpusInput> describe(const std::vector<fs::path>& files) {
  std::vector<CorpusInput> inputs;
  for (const fs::path& file : files) inputs.push_back(CorpusInput::describe(file));
  return inputs;
}

void require_the_same(bool holds, const fs::path& out, std::string_view what) {
  require(holds, "{}: holds shards made {}; remove it or choose another folder", out.string(),
          what);
}

void require_the_same_corpus(const std::vector<CorpusInput>& then,
                             const std::vector<CorpusInput>& now, const fs::path& out) {
  require_the_same(
      then.size() == now.size(), out,
      fmt::format("from another corpus, of {} files instead of {}", then.size(), now.size()));
  std::vector<std::string> unsure;
  for (size_t i = 0; i < now.size(); ++i) {
    // Text from a pipe cannot be read again, so it cannot be compared.
    require_the_same(now[i].sample.has_value(), out,
                     "before, and text that is piped in cannot be compared with theirs");
    require_the_same(now[i].is_same_file(then[i]), out,
                     fmt::format("from another corpus: {} has changed", now[i].file));
    if (now[i].may_have_changed(then[i])) unsure.push_back(now[i].file);
  }
  if (unsure.empty()) return;
  log::warning(
      "{}: {} file{} of the corpus may have changed since these shards were made, the first: {}; "
      "size and compared parts are the same, so the shards are kept (remove the folder to make "
      "them anew)",
      out.string(), unsure.size(), unsure.size() == 1 ? "" : "s", unsure.front());
}

void require_the_same_job(const ShardManifest& then, const ShardManifest& now,
                          const fs::path& out) {
  require_the_same(then.tokenizer == now.tokenizer, out, "with another tokenizer");
  require_the_same(then.field == now.field, out,
                   fmt::format("of the field {} instead of {}", then.field, now.field));
  require_the_same(then.shard_tokens == now.shard_tokens, out, "with another size of shards");
  require_the_same_corpus(then.corpus, now.corpus, out);
}

ShardManifest new_manifest(const Tokenizer& tokenizer, const TokenizeOptions& options,
                           const std::vector<fs::path>& files) {
  return {.tokenizer = tokenizer.fingerprint(),
          .pieces = tokenizer.vocabulary().pieces(),
          .shard_tokens = options.shard_tokens,
          .field = options.field,
          .corpus = describe(files)};
}

// Version 0.1.0 included validation files of folders and patterns: such shards are complete too.
std::vector<fs::path> files_of(const TokenizeOptions& options,
                               const std::optional<ShardManifest>& found) {
  if (found) {
    const std::vector<CorpusInput>& corpus = found->corpus;
    const bool old = !corpus.empty() && !corpus.front().sample;
    const auto all = expand_corpus(options.corpus, HeldOutFiles::Take);
    const auto is_listed = [](const CorpusInput& input, const fs::path& file) {
      return input.file == file.string();
    };
    if (old && std::equal(corpus.begin(), corpus.end(), all.begin(), all.end(), is_listed)) {
      return all;
    }
  }
  return expand_corpus(options.corpus);
}

// How much of the corpus is read, with docs/s, MB/s of text and the time left.
class TokenizeProgress {
 public:
  TokenizeProgress(const std::vector<CorpusInput>& corpus, bool shown)
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

struct Job {
  std::vector<fs::path> files;
  ShardManifest manifest;  // of the same job where one began it, after a stop or complete
};

Job find_job(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  std::optional<ShardManifest> found;
  if (ShardManifest::is_in(options.out)) found = ShardManifest::load(options.out);
  std::vector<fs::path> files = files_of(options, found);
  ShardManifest manifest = new_manifest(tokenizer, options, files);
  if (found) {
    require_the_same_job(*found, manifest, options.out);
    manifest = std::move(*found);
  }
  return {std::move(files), std::move(manifest)};
}

void add_documents(TokenShardWriter& shard, const TokenizedChunk& chunk) {
  size_t begin = 0;
  for (const size_t end : chunk.document_ends) {
    shard.add(std::span(chunk.ids).subspan(begin, end - begin));
    begin = end;
  }
}

}  // namespace

ShardManifest tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options) {
  Job job = find_job(tokenizer, options);
  if (job.manifest.complete) return job.manifest;
  const ClaimedFolder folder(options.out, FolderKind::Shards);
  // Another process may have written shards before this one claimed the folder.
  if (ShardManifest::is_in(options.out)) {
    const ShardManifest now = ShardManifest::load(options.out);
    const bool is_same =
        now.complete == job.manifest.complete && now.shards.size() == job.manifest.shards.size();
    if (!is_same) job = find_job(tokenizer, options);
  }
  auto& [files, manifest] = job;
  if (manifest.complete) return manifest;
  if (!manifest.shards.empty()) {
    log::info("{}: resuming after {}, {}", options.out.string(),
              counted(std::ssize(manifest.shards), "shard"),
              counted(manifest.documents(), "document"));
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
  if (chunk) return manifest;  // stopped
  require(!manifest.shards.empty(), "{}: the corpus holds no document", options.corpus);
  if (bad_lines.skipped() > 0) log::warning("{}", bad_lines.summary());
  return manifest;
}

}  // namespace convseq
