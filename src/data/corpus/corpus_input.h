#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "convseq/base/file/json_file.h"

namespace convseq {

// A file of a corpus as it was when token shards were made of it: enough to tell later, without
// reading all of it, whether it is still the same. The size alone says little, and a checksum of
// the whole costs a pass over the corpus; so it is the size and a CRC-32 of 16 blocks of 64 KiB
// spread over the file (all of a file up to 1 MiB). The time of the last change is not part of the
// answer, since copying a file changes it and not the text; it only says where the blocks are no
// proof.
struct CorpusInput {
  std::string file;
  int64_t bytes = 0;
  std::optional<int64_t> modified = {};  // in ns; none, as the sample: no regular file, or an
  std::optional<uint32_t> sample = {};   // entry written before there were samples

  static CorpusInput describe(const std::filesystem::path& file);
  static CorpusInput from_json(const JsonObject& json);
  Json to_json() const;

  bool is_same_file(const CorpusInput& then) const;
  // The same as far as the blocks tell, but changed since, and too large to be in them whole.
  bool may_have_changed(const CorpusInput& then) const;
};

}  // namespace convseq
