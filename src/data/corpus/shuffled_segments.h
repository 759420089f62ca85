#pragma once

#include <memory>

#include "convseq/data/corpus/segment_groups.h"

namespace convseq {

// Names one segment of a corpus's endless row, and says all that is needed to go on from it.
struct SegmentCursor {
  GroupPlace group = {};
  int64_t position = 0;  // within the group, as shuffled
  bool operator==(const SegmentCursor&) const = default;
};

// The segments of a corpus, one by one, those of each group in random order. What comes is a
// function of the seed and the cursor alone.
class ShuffledSegments {
 public:
  ShuffledSegments(std::unique_ptr<SegmentGroups> groups, uint64_t seed, SegmentCursor start = {});

  SegmentCursor next(std::vector<int32_t>& out);  // appends a segment; returns its name
  void skip();
  const SegmentCursor& cursor() const { return cursor_; }  // of the segment to come
  uint32_t fingerprint() const { return groups_->fingerprint(); }

 private:
  void open_group();
  void find_segment();  // moves on to the next group where this one is used up

  std::unique_ptr<SegmentGroups> groups_;
  uint64_t seed_;
  SegmentCursor cursor_;
  bool opened_ = false;
  std::vector<int64_t> order_;  // of the group's segments
};

}  // namespace convseq
