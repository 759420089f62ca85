#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json_file.h"
#include "data/document_reader.h"

namespace convseq {

// What a folder of token shards holds, and how far the job that fills it has come: manifest.json in
// it, replaced after each shard.
struct ShardManifest {
  struct Input {
    std::string file;
    int64_t bytes = 0;
    bool operator==(const Input&) const = default;
  };
  struct Shard {
    std::string file;  // in the folder
    int64_t documents = 0;
    int64_t tokens = 0;
  };

  uint32_t tokenizer = 0;  // Tokenizer::fingerprint()
  int32_t pieces = 0;      // of the vocabulary
  int64_t shard_tokens = 0;
  std::vector<Input> corpus = {};
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
