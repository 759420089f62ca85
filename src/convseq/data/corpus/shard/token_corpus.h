#pragma once

#include <deque>

#include "convseq/data/corpus/shard/shard_manifest.h"
#include "convseq/data/corpus/shard/token_shard.h"

namespace convseq {

// The shards of a folder, concatenated into one sequence of ids.
class TokenCorpus {
 public:
  explicit TokenCorpus(const std::filesystem::path& folder);

  int64_t tokens() const { return begins_.back(); }
  uint32_t tokenizer() const { return manifest_.tokenizer; }
  const ShardManifest& manifest() const { return manifest_; }

  void read(int64_t begin, std::span<int32_t> out);  // out.size() ids from `begin` on
  void drop_pages() const;                           // bounds the memory of the process

 private:
  ShardManifest manifest_;
  std::deque<TokenShard> shards_;
  std::vector<int64_t> begins_;  // of each shard, and the end of the last
};

}  // namespace convseq
