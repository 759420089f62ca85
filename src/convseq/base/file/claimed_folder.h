#pragma once

#include <filesystem>
#include <optional>

#include "convseq/base/file/folder_lock.h"
#include "convseq/base/file/output_folder.h"

namespace convseq {

// The output folder of a long job: new, or one that an interrupted job of the same kind began. It
// is writable, locked against a second job, and free of unfinished files of killed processes. A
// folder that was created for a job that is refused before it writes anything is removed again.
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
