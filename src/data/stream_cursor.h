#pragma once

#include "base/json_file.h"
#include "data/shuffled_segments.h"

namespace convseq {

// Where a stream stands, between two global batches. The number of ranks, of threads and of rows in
// a batch are no part of it: all may change.
struct StreamCursor {
  int64_t examples = 0;  // drawn so far
  std::vector<SegmentCursor> corpora = {};
  uint32_t fingerprint = 0;  // of corpora, weights, segment length and seed

  Json to_json() const;
  static StreamCursor from_json(const JsonObject& json);
  bool operator==(const StreamCursor&) const = default;
};

}  // namespace convseq
