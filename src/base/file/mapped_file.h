#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace convseq {

// A file mapped read-only for as long as the object lives.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  // Takes what was read out of this process's memory; it is read again, from the system's cache or
  // the disk, when it is next touched.
  void drop_pages() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace convseq
