#pragma once

#include "convseq/base/file/json_file.h"
#include "convseq/data/corpus/shuffled_segments.h"

namespace convseq {

// The position of a stream between two global batches. It does not contain the number of ranks, of
// threads or of rows per batch, so all of them may change.
struct StreamCursor {
  // Version 1, which is not written down, leaves span corruption out of the fingerprint and
  // includes the validation files of folders and patterns. A run resumes by the rules it started
  // with.
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
