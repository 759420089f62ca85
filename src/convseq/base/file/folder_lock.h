#pragma once

#include <filesystem>

namespace convseq {

// An exclusive lock on a folder: a second FolderLock on it is an Error that names the process and
// machine of the first. The system drops the lock when its process ends, for whatever reason. On a
// filesystem without locks it logs a warning and continues.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  static constexpr const char* kFile = ".lock";  // in the folder; gone with the lock

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace convseq
