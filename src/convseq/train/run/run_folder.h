#pragma once

#include "convseq/base/file/claimed_folder.h"

namespace convseq {

// The folder a run writes to.
class RunFolder : public ClaimedFolder {
 public:
  explicit RunFolder(std::filesystem::path path)
      : ClaimedFolder(std::move(path), FolderKind::Run) {}

  // Checks the disk space for `keep` checkpoints and for the next one while it is written; the
  // `kept` existing checkpoints need no new space.
  void check_room(int64_t parameters, int64_t keep, int64_t kept) const;
};

}  // namespace convseq
