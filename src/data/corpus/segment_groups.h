#pragma once

#include <cstdint>
#include <vector>

#include "convseq/data/corpus/document_reader.h"

namespace convseq {

// Where a group of segments begins.
struct GroupPlace {
  int64_t epoch = 0;
  int64_t group = 0;        // within the epoch
  DocumentPlace text = {};  // within the epoch's order of files; raw text alone needs it
  bool operator==(const GroupPlace&) const = default;
};

// A corpus as an endless row of groups of segments, epoch after epoch: what a shuffle takes in at
// once. A group is a function of its place, so that a run can begin anywhere.
class SegmentGroups {
 public:
  virtual ~SegmentGroups() = default;

  virtual int64_t open(const GroupPlace& place) = 0;  // makes a group current; its segments
  virtual GroupPlace following() const = 0;           // the place after the current group
  virtual void read(int64_t segment, std::vector<int32_t>& out) = 0;  // appends one of its segments
  virtual uint32_t fingerprint() const = 0;  // differs where the segments would
};

}  // namespace convseq
