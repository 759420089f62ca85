#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/corpus/corpus_input.h"
#include "convseq/data/corpus/document_reader.h"

namespace convseq {

// manifest.json of a folder of token shards: the shards, and how far the job that writes them has
// come. It is replaced after each shard. Manifests of version 0.1.0, without the field and the
// samples of the files, can still be read.
struct ShardManifest {
  struct Shard {
    std::string file;  // in the folder
    int64_t documents = 0;
    int64_t tokens = 0;
  };

  uint32_t tokenizer = 0;  // Tokenizer::fingerprint()
  int32_t pieces = 0;      // of the vocabulary
  int64_t shard_tokens = 0;
  std::string field = "text";  // of a JSON line
  std::vector<CorpusInput> corpus = {};
  std::vector<Shard> shards = {};
  DocumentPlace next = {};  // where the next shard begins, in `corpus`
  int64_t bad_lines = 0;
  bool complete = false;

  static bool is_in(const std::filesystem::path& folder);
  static ShardManifest load(const std::filesystem::path& folder);
  void save(const std::filesystem::path& folder) const;

  int64_t documents() const;
  int64_t tokens() const;
};

}  // namespace convseq
