#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "convseq/base/file/atomic_file.h"

namespace convseq {

// Writes a file line by line, packed with gzip where its name ends in .gz. It appears whole on
// commit(), or not at all; the same lines give the same bytes.
class LineWriter {
 public:
  explicit LineWriter(const std::filesystem::path& path);
  ~LineWriter();

  void write(std::string_view line);  // without its line end
  void commit();

 private:
  class Packer;
  AtomicFile file_;
  std::unique_ptr<Packer> packer_;  // none: plain text
};

}  // namespace convseq
