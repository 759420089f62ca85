#pragma once

#include "convseq/base/file/atomic_file.h"
#include "convseq/data/corpus/shard/token_shard.h"
#include "convseq/text/sentinels.h"

namespace convseq {

// Writes a token shard document by document, in bounded memory. The file appears on commit().
class TokenShardWriter {
 public:
  TokenShardWriter(const std::filesystem::path& path, const Vocabulary& vocabulary,
                   uint32_t tokenizer);

  void add(std::span<const int32_t> document);  // with its EOS
  void commit();

  int64_t tokens() const { return static_cast<int64_t>(head_.tokens); }
  int64_t documents() const { return static_cast<int64_t>(head_.documents); }

 private:
  void flush_block();

  AtomicFile file_;
  TokenShardHead head_;
  std::vector<std::byte> block_;  // ids not yet written
  std::vector<uint64_t> document_ends_;
  std::vector<uint32_t> checksums_;
};

}  // namespace convseq
