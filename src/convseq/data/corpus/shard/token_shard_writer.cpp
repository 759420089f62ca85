#include "convseq/data/corpus/shard/token_shard_writer.h"

#include <array>
#include <cassert>
#include <cstring>

#include "convseq/base/checksum.h"

namespace convseq {

TokenShardWriter::TokenShardWriter(const std::filesystem::path& path, const Vocabulary& vocabulary,
                                   uint32_t tokenizer)
    : file_(path) {
  head_.vocabulary = static_cast<uint32_t>(vocabulary.size());
  head_.id_bytes = head_.vocabulary <= 1u << 16 ? 2 : 4;
  head_.tokenizer = tokenizer;
  block_.reserve(TokenShardHead::kBlockBytes);
  file_.write(std::as_bytes(std::span(&head_, 1)));  // a placeholder until the counts are known
}

void TokenShardWriter::add(std::span<const int32_t> document) {
  for (const int32_t id : document) {
    assert(id >= 0 && static_cast<uint32_t>(id) < head_.vocabulary);
    std::array<std::byte, sizeof id> bytes;
    std::memcpy(bytes.data(), &id, sizeof id);
    block_.insert(block_.end(), bytes.begin(), bytes.begin() + head_.id_bytes);
    if (block_.size() == TokenShardHead::kBlockBytes) flush_block();
  }
  head_.tokens += document.size();
  head_.documents += 1;
  document_ends_.push_back(head_.tokens);
}

void TokenShardWriter::flush_block() {
  file_.write(block_);
  checksums_.push_back(crc32_of(block_));
  block_.clear();
}

void TokenShardWriter::commit() {
  if (!block_.empty()) flush_block();
  file_.write(std::vector<std::byte>(head_.padding()));
  file_.write(std::as_bytes(std::span(document_ends_)));
  checksums_.push_back(crc32_of(std::as_bytes(std::span(document_ends_))));
  file_.write(std::as_bytes(std::span(checksums_)));
  head_.checksums_crc = crc32_of(std::as_bytes(std::span(checksums_)));
  head_.head_crc = head_.right_head_crc();
  file_.write_at(0, std::as_bytes(std::span(&head_, 1)));
  file_.commit();
}

}  // namespace convseq
