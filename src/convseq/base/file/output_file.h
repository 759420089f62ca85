#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "convseq/base/file/atomic_file.h"

namespace convseq {

// An output file that the user names. It is opened before the work, so that a path that cannot be
// written is refused before anything is computed. The same rules hold for all commands:
//   "-"                             standard output
//   a device, FIFO or socket        is written to directly
//   a regular file, or none yet     appears whole on commit(), or is left as it was
//   a symbolic link                 is followed, and stays a link
//   a file that the command reads   is refused, also as "-", standard input
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& inputs = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void flush();  // to standard output, a device, FIFO or socket; a regular file waits for commit()
  void commit();
  bool appears_whole() const { return file_.has_value(); }  // on commit(), not as it is written

 private:
  std::filesystem::path path_;
  std::optional<AtomicFile> file_;
  std::FILE* stream_ = nullptr;  // if it is not a regular file
};

}  // namespace convseq
