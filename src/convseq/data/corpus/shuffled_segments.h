#pragma once

#include <memory>

#include "convseq/data/corpus/segment_groups.h"

namespace convseq {

// Identifies one segment of the endless sequence, and is all that is needed to resume from it.
struct SegmentCursor {
  GroupPlace group = {};
  int64_t position = 0;  // in the shuffled order of the group
  bool operator==(const SegmentCursor&) const = default;
};

// The segments of a corpus, one by one, in random order within each group. The order is a function
// of the seed and the cursor alone.
class ShuffledSegments {
 public:
  ShuffledSegments(std::unique_ptr<SegmentGroups> groups, uint64_t seed, SegmentCursor start = {});

  SegmentCursor next(std::vector<int32_t>& out);  // appends a segment; returns its cursor
  void skip();
  const SegmentCursor& cursor() const { return cursor_; }  // of the next segment
  uint32_t fingerprint() const { return groups_->fingerprint(); }

 private:
  void open_group();
  void find_segment();  // opens the next group at the end of this one

  std::unique_ptr<SegmentGroups> groups_;
  uint64_t seed_;
  SegmentCursor cursor_;
  bool opened_ = false;
  std::vector<int64_t> order_;  // of the group's segments
};

}  // namespace convseq
