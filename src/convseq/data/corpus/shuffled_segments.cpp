#include "convseq/data/corpus/shuffled_segments.h"

#include <numeric>

#include "convseq/base/error.h"
#include "convseq/base/random.h"
#include "convseq/data/random_use.h"

namespace convseq {

ShuffledSegments::ShuffledSegments(std::unique_ptr<SegmentGroups> groups, uint64_t seed,
                                   SegmentCursor start)
    : groups_(std::move(groups)), seed_(seed), cursor_(start) {}

void ShuffledSegments::open_group() {
  const auto& [epoch, group, text] = cursor_.group;
  order_.resize(static_cast<size_t>(groups_->open(cursor_.group)));
  std::iota(order_.begin(), order_.end(), 0);
  Random(seed_, {kGroupOrder, static_cast<uint64_t>(epoch), static_cast<uint64_t>(group)})
      .shuffle(order_);
  opened_ = true;
}

void ShuffledSegments::find_segment() {
  if (!opened_) open_group();
  require(cursor_.position <= std::ssize(order_),
          "the cursor is at segment {} of a group of {}: it was saved for another corpus",
          cursor_.position, order_.size());
  while (cursor_.position == std::ssize(order_)) {
    cursor_ = {.group = groups_->following()};
    open_group();
  }
}

SegmentCursor ShuffledSegments::next(std::vector<int32_t>& out) {
  find_segment();
  const SegmentCursor name = cursor_;
  groups_->read(order_[static_cast<size_t>(cursor_.position++)], out);
  return name;
}

void ShuffledSegments::skip() {
  find_segment();
  ++cursor_.position;
}

}  // namespace convseq
