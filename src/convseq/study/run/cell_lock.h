#pragma once

#include <filesystem>
#include <optional>
#include <utility>

namespace convseq {

// An exclusive lock on a file, which the kernel releases when the process ends, for whatever
// reason. The file stays.
class CellLock {
 public:
  static std::optional<CellLock> try_to_get(const std::filesystem::path& file);
  static CellLock wait_for(const std::filesystem::path& file);  // until its holder releases it
  static bool is_held(const std::filesystem::path& file);

  void sign() const;  // writes the id of this process into the file, for people who look there
  int descriptor() const { return descriptor_; }

  CellLock(CellLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  CellLock& operator=(CellLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~CellLock();

 private:
  explicit CellLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace convseq
