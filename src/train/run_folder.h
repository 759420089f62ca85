#pragma once

#include <filesystem>

namespace convseq {

// The folder a run writes to: made where it is not there, known to be writable, and free of what
// killed processes left unfinished. Made in vain, for a run that is refused before it writes, it is
// removed again.
class RunFolder {
 public:
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // For `keep` checkpoints of so many parameters, and the next one while it is written.
  void check_room(int64_t parameters, int64_t keep) const;

 private:
  std::filesystem::path path_;
  bool made_;
};

}  // namespace convseq
