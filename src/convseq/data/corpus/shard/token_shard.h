#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "convseq/base/error.h"
#include "convseq/base/file/mapped_file.h"

namespace convseq {

// The head of a token shard. The file, all numbers little-endian:
//
//   head            48 bytes, the last 4 a CRC-32 of the others
//   ids             `tokens` of 16 or 32 bits, as the vocabulary needs; padded to 8 bytes
//   document ends   `documents` of 64 bits: the position after each document's last token
//   checksums       a CRC-32 for each 2^16 bytes of ids (the last for the rest), then one for the
//                   document ends; they have a CRC-32 of their own in the head
struct TokenShardHead {
  static constexpr uint64_t kMagic = 0x4b4f'5451'4553'5643;  // "CVSEQTOK"
  static constexpr uint32_t kVersion = 1;
  static constexpr uint64_t kBlockBytes = 1 << 16;

  uint64_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t id_bytes = 0;    // 2 or 4
  uint32_t vocabulary = 0;  // upper bound of all ids
  uint32_t tokenizer = 0;   // Tokenizer::fingerprint()
  uint64_t documents = 0;
  uint64_t tokens = 0;
  uint32_t checksums_crc = 0;
  uint32_t head_crc = 0;

  uint32_t right_head_crc() const;  // of all bytes before head_crc

  uint64_t ids_bytes() const { return tokens * id_bytes; }
  uint64_t padding() const { return -ids_bytes() % 8; }
  uint64_t blocks() const { return (ids_bytes() + kBlockBytes - 1) / kBlockBytes; }
};
static_assert(sizeof(TokenShardHead) == 48);

// A memory-mapped file of token ids, with the ends of its documents (whose last token is an EOS).
// Head and sizes are verified when it is opened, ids one block at a time when a block is first
// read. So terabytes open at once, and neither a damaged byte nor an id without an embedding goes
// unnoticed. Not thread-safe.
class TokenShard {
 public:
  explicit TokenShard(const std::filesystem::path& path);

  int64_t tokens() const { return static_cast<int64_t>(head_.tokens); }
  int64_t documents() const { return static_cast<int64_t>(head_.documents); }
  const TokenShardHead& head() const { return head_; }

  void read(int64_t begin, std::span<int32_t> out);  // out.size() tokens from `begin` on
  std::span<const uint64_t> document_ends();
  void verify();  // everything, now
  void drop_pages() const { file_.drop_pages(); }

 private:
  void verify_block(size_t block);
  template <class Id>
  void check_ids(std::span<const std::byte> bytes) const;
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> why, Args&&... args) const;

  std::filesystem::path path_;
  MappedFile file_;
  TokenShardHead head_;
  std::span<const std::byte> ids_;
  std::span<const uint64_t> document_ends_;
  std::span<const uint32_t> checksums_;
  std::vector<bool> verified_;  // blocks of ids, then the document ends
};

}  // namespace convseq
