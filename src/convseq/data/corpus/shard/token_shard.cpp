#include "convseq/data/corpus/shard/token_shard.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

#include "convseq/base/checksum.h"

namespace convseq {

static_assert(std::endian::native == std::endian::little, "token shards are read as they lie");

uint32_t TokenShardHead::right_head_crc() const {
  return crc32_of(std::as_bytes(std::span(this, 1)).first(offsetof(TokenShardHead, head_crc)));
}

template <class... Args>
void TokenShard::refuse(fmt::format_string<Args...> why, Args&&... args) const {
  fail("{}: {}", path_.string(), fmt::format(why, std::forward<Args>(args)...));
}

TokenShard::TokenShard(const std::filesystem::path& path) : path_(path), file_(path) {
  const std::span<const std::byte> bytes = file_.bytes();
  const auto need = [&](bool holds, const char* why) {
    if (!holds) refuse("{}", why);
  };
  need(bytes.size() >= sizeof head_, "too short for a token shard");
  std::memcpy(&head_, bytes.data(), sizeof head_);
  need(head_.magic == TokenShardHead::kMagic, "not a token shard");
  if (head_.version != TokenShardHead::kVersion) {
    refuse("a token shard of version {}; this program reads version {}", head_.version,
           TokenShardHead::kVersion);
  }
  need(head_.head_crc == head_.right_head_crc(), "the head's checksum is wrong");
  need(head_.id_bytes == 2 || head_.id_bytes == 4, "its ids are neither of 16 nor of 32 bits");
  // No count may exceed the file, so that no sum of sizes below can overflow.
  need(head_.tokens <= bytes.size() && head_.documents <= head_.tokens, "truncated");
  const uint64_t checksums_bytes = (head_.blocks() + 1) * sizeof(uint32_t);
  const uint64_t size = sizeof head_ + head_.ids_bytes() + head_.padding() +
                        head_.documents * sizeof(uint64_t) + checksums_bytes;
  if (bytes.size() != size) refuse("{} bytes, where its head tells of {}", bytes.size(), size);

  ids_ = bytes.subspan(sizeof head_, head_.ids_bytes());
  const std::byte* ends = ids_.data() + ids_.size() + head_.padding();
  document_ends_ = {reinterpret_cast<const uint64_t*>(ends), head_.documents};
  checksums_ = {reinterpret_cast<const uint32_t*>(ends + document_ends_.size_bytes()),
                head_.blocks() + 1};
  need(head_.checksums_crc == crc32_of(std::as_bytes(checksums_)),
       "the checksum of its checksums is wrong");
  verified_.resize(checksums_.size());
}

template <class Id>
void TokenShard::check_ids(std::span<const std::byte> bytes) const {
  const auto* ids = reinterpret_cast<const Id*>(bytes.data());
  const uint32_t largest = *std::max_element(ids, ids + bytes.size() / sizeof(Id));
  if (largest >= head_.vocabulary) {
    refuse("holds id {}, outside its vocabulary of {}", largest, head_.vocabulary);
  }
}

void TokenShard::verify_block(size_t block) {
  if (verified_[block]) return;
  const size_t begin = block * TokenShardHead::kBlockBytes;
  const auto bytes =
      ids_.subspan(begin, std::min<size_t>(TokenShardHead::kBlockBytes, ids_.size() - begin));
  if (crc32_of(bytes) != checksums_[block]) {
    refuse("wrong checksum of tokens {} to {}", begin / head_.id_bytes,
           (begin + bytes.size()) / head_.id_bytes - 1);
  }
  head_.id_bytes == 2 ? check_ids<uint16_t>(bytes) : check_ids<uint32_t>(bytes);
  verified_[block] = true;
}

void TokenShard::read(int64_t begin, std::span<int32_t> out) {
  assert(begin >= 0 && begin + std::ssize(out) <= tokens());
  if (out.empty()) return;
  const auto first = static_cast<size_t>(begin);
  const size_t last_byte = (first + out.size()) * head_.id_bytes - 1;
  for (size_t block = first * head_.id_bytes / TokenShardHead::kBlockBytes;
       block <= last_byte / TokenShardHead::kBlockBytes; ++block) {
    verify_block(block);
  }
  const auto copy = [&](const auto* ids) {
    std::copy(ids + first, ids + first + out.size(), out.begin());
  };
  head_.id_bytes == 2 ? copy(reinterpret_cast<const uint16_t*>(ids_.data()))
                      : copy(reinterpret_cast<const uint32_t*>(ids_.data()));
}

std::span<const uint64_t> TokenShard::document_ends() {
  const size_t table = head_.blocks();
  if (!verified_[table]) {
    const auto& ends = document_ends_;
    if (crc32_of(std::as_bytes(ends)) != checksums_[table])
      refuse("wrong checksum of its documents");
    const bool ascending = std::is_sorted(ends.begin(), ends.end());
    if (!ascending || (ends.empty() ? 0 : ends.back()) != head_.tokens) {
      refuse("its documents do not cover its tokens");
    }
    verified_[table] = true;
  }
  return document_ends_;
}

void TokenShard::verify() {
  for (size_t block = 0; block < head_.blocks(); ++block) verify_block(block);
  document_ends();
}

}  // namespace convseq
