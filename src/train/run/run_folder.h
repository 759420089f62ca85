#pragma once

#include "convseq/base/file/claimed_folder.h"

namespace convseq {

// The folder a run writes to.
class RunFolder : public ClaimedFolder {
 public:
  explicit RunFolder(std::filesystem::path path)
      : ClaimedFolder(std::move(path), FolderKind::Run) {}

  // For `keep` checkpoints of so many parameters, and the next one while it is written; those that
  // are there already take up their place.
  void check_room(int64_t parameters, int64_t keep, int64_t kept) const;
};

}  // namespace convseq
