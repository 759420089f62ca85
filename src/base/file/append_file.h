#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace convseq {

// A file that only grows. What append() was given is with the system when it returns, so a killed
// process loses nothing but, at worst, the end of the piece it was just writing.
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
  [[noreturn]] void fail_with_errno(const char* doing) const;

  std::filesystem::path path_;
  int file_ = -1;
};

}  // namespace convseq
