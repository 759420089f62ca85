#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace convseq {

// An append-only file. When append() returns, the system has the bytes, so that a killed process
// loses at most the end of the piece it was writing.
class AppendFile {
 public:
  // Keeps the first `keep` bytes of the file that is there, or creates it.
  explicit AppendFile(std::filesystem::path path, uint64_t keep = 0);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  void append(std::string_view bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace convseq
