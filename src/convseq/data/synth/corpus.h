#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

namespace convseq::synth {

struct CorpusOptions {
  int64_t documents = 20'000;
  int64_t validation_documents = 400;
  int64_t shards = 4;
  uint64_t seed = 1;
  // Not called concurrently. An exception ends the work, and no folder is left.
  std::function<void(int64_t written)> on_progress = [](int64_t) {};
};

struct CorpusReport {
  int64_t documents = 0;  // both parts together
  int64_t bytes = 0;      // of text
};

// Writes synth.train.00000-of-00004.json.gz, … and synth.validation.00000-of-00001.json.gz into
// `folder`, which must be new or empty. Documents depend on seed and number alone, so any number of
// shards holds the same documents in the same order.
CorpusReport write_corpus(const std::filesystem::path& folder, const CorpusOptions& options);

}  // namespace convseq::synth
