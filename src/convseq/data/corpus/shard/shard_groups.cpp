#include "convseq/data/corpus/shard/shard_groups.h"

#include <numeric>

#include "convseq/base/checksum.h"
#include "convseq/base/random.h"
#include "convseq/data/random_use.h"

namespace convseq {

ShardGroups::ShardGroups(TokenCorpus corpus, const ShardGroupsOptions& options)
    : corpus_(std::move(corpus)), options_(options), segmenter_{options.segment_length} {
  const int64_t segments = segmenter_.count(corpus_.tokens());
  blocks_.resize(static_cast<size_t>(Segmenter{options_.block_segments}.count(segments)));
}

void ShardGroups::order_blocks(int64_t epoch) {
  std::iota(blocks_.begin(), blocks_.end(), 0);
  Random(options_.seed, {kBlockOrder, static_cast<uint64_t>(epoch)}).shuffle(blocks_);
}

int64_t ShardGroups::open(const GroupPlace& place) {
  if (place.epoch != place_.epoch) order_blocks(place.epoch);
  place_ = place;
  corpus_.drop_pages();
  segments_.clear();
  const int64_t all = segmenter_.count(corpus_.tokens());
  const int64_t first = place.group * options_.group_blocks;
  const int64_t last = std::min(first + options_.group_blocks, std::ssize(blocks_));
  for (int64_t i = first; i < last; ++i) {
    const int64_t begin = blocks_[static_cast<size_t>(i)] * options_.block_segments;
    const int64_t end = std::min(begin + options_.block_segments, all);
    for (int64_t segment = begin; segment < end; ++segment) segments_.push_back(segment);
  }
  return std::ssize(segments_);
}

GroupPlace ShardGroups::following() const {
  const bool last = (place_.group + 1) * options_.group_blocks >= std::ssize(blocks_);
  return {.epoch = place_.epoch + (last ? 1 : 0), .group = last ? 0 : place_.group + 1};
}

void ShardGroups::read(int64_t segment, std::vector<int32_t>& out) {
  const int64_t number = segments_[static_cast<size_t>(segment)];
  const auto size = static_cast<size_t>(segmenter_.size(number, corpus_.tokens()));
  out.resize(out.size() + size);
  corpus_.read(segmenter_.begin(number), std::span(out).last(size));
}

uint32_t ShardGroups::fingerprint() const {
  std::string all = fmt::format("shards of {}", corpus_.tokenizer());
  for (const auto& shard : corpus_.manifest().shards) {
    all += fmt::format(" {}:{}", shard.documents, shard.tokens);
  }
  return crc32_of(all);
}

}  // namespace convseq
