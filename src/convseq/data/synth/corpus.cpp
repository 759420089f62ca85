#include "convseq/data/synth/corpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>

#include "convseq/base/error.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/file/output_folder.h"
#include "convseq/base/machine.h"
#include "convseq/data/io/line_writer.h"
#include "convseq/data/synth/grammar/document.h"

namespace convseq::synth {
namespace {

struct Shard {
  std::string file;
  CorpusPart part;
  int64_t begin;  // documents
  int64_t end;
};

std::vector<Shard> plan_shards(const CorpusOptions& options) {
  std::vector<Shard> shards;
  const auto plan = [&](CorpusPart part, std::string_view name, int64_t documents, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      shards.push_back({fmt::format("synth.{}.{:05}-of-{:05}.json.gz", name, i, count), part,
                        documents * i / count, documents * (i + 1) / count});
    }
  };
  plan(CorpusPart::Train, "train", options.documents, options.shards);
  plan(CorpusPart::Validation, "validation", options.validation_documents, 1);
  return shards;
}

class CorpusWriter {
 public:
  CorpusWriter(std::filesystem::path folder, const CorpusOptions& options)
      : folder_(std::move(folder)), options_(options), shards_(plan_shards(options)) {}

  CorpusReport write() {
    const size_t threads = std::min<size_t>(hardware_threads(), shards_.size());
    std::vector<std::future<void>> workers;
    for (size_t i = 0; i < threads; ++i) {
      workers.push_back(std::async(std::launch::async, [&] { write_shards_left(); }));
    }
    for (auto& worker : workers) worker.get();
    return report_;
  }

 private:
  void write_shards_left() {
    for (size_t i = next_++; i < shards_.size(); i = next_++) write_shard(shards_[i]);
  }

  void write_shard(const Shard& shard) {
    constexpr int64_t kReportEvery = 1000;
    LineWriter lines(folder_ / shard.file);
    CorpusReport unreported;
    for (int64_t index = shard.begin; index < shard.end; ++index) {
      const std::string text =
          write_document(options_.seed, shard.part, static_cast<uint64_t>(index));
      lines.write(Json{{"text", text}}.dump());
      unreported.documents += 1;
      unreported.bytes += static_cast<int64_t>(text.size());
      if (unreported.documents == kReportEvery) report(std::exchange(unreported, {}));
    }
    lines.commit();
    report(unreported);
  }

  void report(const CorpusReport& more) {
    const std::lock_guard lock(mutex_);
    report_.documents += more.documents;
    report_.bytes += more.bytes;
    options_.on_progress(report_.documents);
  }

  std::filesystem::path folder_;
  const CorpusOptions& options_;
  std::vector<Shard> shards_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  CorpusReport report_;
};

}  // namespace

CorpusReport write_corpus(const std::filesystem::path& folder, const CorpusOptions& options) {
  require(options.documents >= 1, "{} is {}; allowed: 1 or more", OptionName("documents"),
          options.documents);
  require(options.validation_documents >= 1, "{} is {}; allowed: 1 or more",
          OptionName("validation_documents"), options.validation_documents);
  require(options.shards >= 1 && options.shards <= options.documents,
          "{} is {}; allowed: 1 to {}, the number of documents", OptionName("shards"),
          options.shards, options.documents);
  check_output_folder(folder, FolderKind::Corpus);
  CorpusReport report;
  write_folder_atomically(folder, [&](const std::filesystem::path& inside) {
    report = CorpusWriter(inside, options).write();
  });
  return report;
}

}  // namespace convseq::synth
