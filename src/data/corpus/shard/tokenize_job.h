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
  int64_t shard_tokens = 32 << 20;  // a shard ends soon after it reaches this, with a document
  OnBadLine on_bad_line = OnBadLine::Stop;
  bool progress = true;                               // a bar, or lines in a log, on standard error
  std::function<bool()> stop = [] { return false; };  // asked now and then
};

// Fills the folder `out` with token shards of a corpus, and returns its manifest: complete, unless
// it was told to stop. Where an earlier call was stopped, or killed, it goes on after the last
// whole shard; where one has ended, it does nothing. The shards are the same, byte for byte, for
// any number of threads and of stops.
ShardManifest tokenize_corpus(const Tokenizer& tokenizer, const TokenizeOptions& options);

}  // namespace convseq
