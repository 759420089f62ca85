#pragma once

#include <filesystem>
#include <optional>

#include "base/folder_lock.h"

namespace convseq {

// The folder a run writes to: new, or that of a run; known to be writable, locked against a second
// run, and free of what killed processes left unfinished. Made in vain, for a run that is refused
// before it writes, it is removed again.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // For `keep` checkpoints of so many parameters, and the next one while it is written; those that
  // are there already take up their place.
  void check_room(int64_t parameters, int64_t keep, int64_t kept) const;

 private:
  std::filesystem::path path_;
  bool made_;
  std::optional<FolderLock> lock_;
};

}  // namespace convseq
