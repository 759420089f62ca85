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

  // Drops the pages that were read from this process's memory; the next access reads them again,
  // from the page cache or the disk.
  void drop_pages() const;

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace convseq
