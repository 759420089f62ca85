#pragma once

#include "convseq/base/file/json_file.h"
#include "convseq/data/corpus/shuffled_segments.h"

namespace convseq {

// Where a stream stands, between two global batches. The number of ranks, of threads and of rows in
// a batch are no part of it: all may change.
struct StreamCursor {
  // 1, which a cursor has that names none: the objective is no part of the fingerprint, and folders
  // and patterns take in validation files. A run goes on by the rules it began with.
  static constexpr int64_t kVersion = 2;

  int64_t examples = 0;  // drawn so far
  std::vector<SegmentCursor> corpora = {};
  uint32_t fingerprint = 0;  // of corpora, weights, objective, segment length and seed
  int64_t version = kVersion;

  Json to_json() const;
  static StreamCursor from_json(const JsonObject& json);
  bool operator==(const StreamCursor&) const = default;
};

}  // namespace convseq
