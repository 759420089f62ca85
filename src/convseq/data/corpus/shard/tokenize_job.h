#pragma once

#include <functional>

#include "convseq/data/corpus/shard/shard_manifest.h"
#include "convseq/data/io/bad_line.h"
#include "convseq/text/tokenizer.h"

namespace convseq {

struct TokenizeOptions {
  std::string corpus = {};     // as expand_corpus() takes it
  std::string field = "text";  // of a JSON line
  std::filesystem::path out = {};
  size_t threads = 1;
  int64_t shard_tokens = 32 << 20;  // a shard ends with the document that reaches this
  OnBadLine on_bad_line = OnBadLine::Stop;
  bool progress = true;                               // on standard error: a bar, or lines in a log
  std::function<bool()> stop = [] { return false; };  // polled
};

// Writes token shards of a corpus to the folder `out`, and returns the manifest, which is complete
// unless the job was stopped. It resumes a job that was stopped or killed after the last complete
// shard, and does nothing where all shards are there. The shards are the same, byte for byte, for
// any number of threads and restarts.
ShardManifest tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options);

}  // namespace convseq
