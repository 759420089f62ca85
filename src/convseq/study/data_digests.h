#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"

namespace convseq {

// SHA-256 of data files. Those of unchanged files (path, size, time of change) are remembered in a
// cache file, so that a study with gigabytes of text starts at once.
class DataDigests {
 public:
  explicit DataDigests(std::filesystem::path cache = {});  // empty: not remembered

  // The digest of a file's contents. A missing file is noted, and has one that names it.
  std::string of(const std::filesystem::path& file);
  // Those of the files of a corpus (see expand_corpus()), in order.
  std::vector<std::string> of_corpus(const std::string& pattern);
  void save() const;

  const std::vector<std::string>& missing() const { return missing_; }
  std::string note_missing(const std::string& what);  // returns the digest

 private:
  std::filesystem::path cache_;
  Json known_ = Json::object();
  bool changed_ = false;
  std::vector<std::string> missing_;
};

// The first file whose digest says that it is missing, among the inputs of a cell.
std::optional<std::string> missing_file_in(const Json& inputs);

}  // namespace convseq
