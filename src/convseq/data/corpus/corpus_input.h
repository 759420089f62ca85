#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "convseq/base/file/json_file.h"

namespace convseq {

// A file of a corpus as it was when token shards were made of it, to tell later whether it has
// changed without reading all of it. A checksum of the whole would cost a pass over the corpus, so
// the size and a CRC-32 of 16 blocks of 64 KiB spread over the file are compared (all of a file up
// to 1 MiB). The modification time is not compared, since copying a file changes it; it only tells
// where the blocks are no proof.
struct CorpusInput {
  std::string file;
  int64_t bytes = 0;
  std::optional<int64_t> modified = {};  // in ns; modified and sample are empty for what is
  std::optional<uint32_t> sample = {};   // not a regular file, and in manifests without samples

  static CorpusInput describe(const std::filesystem::path& file);
  static CorpusInput from_json(const JsonObject& json);
  Json to_json() const;

  bool is_same_file(const CorpusInput& then) const;
  // The compared blocks are the same, but the modification time differs and the blocks do not cover
  // the whole file.
  bool may_have_changed(const CorpusInput& then) const;
};

}  // namespace convseq
