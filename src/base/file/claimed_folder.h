#pragma once

#include <filesystem>
#include <optional>

#include "convseq/base/file/folder_lock.h"
#include "convseq/base/file/output_folder.h"

namespace convseq {

// The folder that a job fills over a long time: new, or one of its kind that goes on; known to be
// writable, locked against a second job, and free of what killed processes left unfinished. Made in
// vain, for a job that is refused before it writes, it is removed again.
class ClaimedFolder {
 public:
  ClaimedFolder(std::filesystem::path path, FolderKind kind);
  ~ClaimedFolder();
  ClaimedFolder(const ClaimedFolder&) = delete;
  ClaimedFolder& operator=(const ClaimedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  bool made_;
  std::optional<FolderLock> lock_;
};

}  // namespace convseq
