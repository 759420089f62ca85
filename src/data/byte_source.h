#pragma once

#include <filesystem>
#include <memory>
#include <span>

namespace convseq {

// The name without .gz or .zst: its extension tells the form of what is packed.
std::filesystem::path uncompressed_name(const std::filesystem::path& file);

// The bytes of a file, or of standard input for "-", unpacked where they are gzip or zstd (told by
// their first bytes, several members or frames in a row included).
class ByteSource {
 public:
  static std::unique_ptr<ByteSource> open(const std::filesystem::path& path);
  virtual ~ByteSource() = default;

  // Fills the front of `out` and returns how much; 0 at the end. Throws an Error that tells what is
  // broken, and leaves it to the caller to say where.
  virtual size_t read(std::span<char> out) = 0;

  virtual int64_t file_position() const = 0;  // bytes of the file used so far, packed as they are
};

}  // namespace convseq
