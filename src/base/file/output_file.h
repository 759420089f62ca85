#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "convseq/base/file/atomic_file.h"

namespace convseq {

// A file that a command writes because a flag names it. Made before the work, so that what cannot
// be written is refused before anything is computed. One rule for all commands:
//   "-"                             standard output
//   a device, FIFO or socket        is written to directly
//   a regular file, or none yet     appears whole on commit(), or is left as it was
//   a symbolic link                 is followed, and stays a link
//   a file that the command reads   is refused
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& inputs = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  std::filesystem::path path_;
  std::optional<AtomicFile> file_;
  std::FILE* stream_ = nullptr;  // of what is no regular file
};

}  // namespace convseq
