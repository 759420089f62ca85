#pragma once

#include <cstdint>
#include <vector>

#include "convseq/data/corpus/document_reader.h"

namespace convseq {

// Where a group of segments begins.
struct GroupPlace {
  int64_t epoch = 0;
  int64_t group = 0;        // within the epoch
  DocumentPlace text = {};  // within the epoch's order of files; used for raw text only
  bool operator==(const GroupPlace&) const = default;
};

// A corpus as an endless sequence of groups of segments, epoch after epoch. Segments are shuffled
// within a group. A group is a function of its place, so a run can start anywhere.
class SegmentGroups {
 public:
  virtual ~SegmentGroups() = default;

  virtual int64_t open(const GroupPlace& place) = 0;  // makes a group current; returns its size
  virtual GroupPlace following() const = 0;           // the place after the current group
  virtual void read(int64_t segment, std::vector<int32_t>& out) = 0;  // appends one segment
  virtual uint32_t fingerprint() const = 0;  // differs where the segments differ
};

}  // namespace convseq
