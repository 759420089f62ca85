#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>

namespace convseq {

inline constexpr size_t kReadBytes = 256 << 10;  // read at once

// The extension of a file's name in lower case, ".csv" of "A.CSV"; of the second without .gz or
// .zst:
// ".csv" of "A.csv.gz", the form of what is compressed.
std::string lower_extension(const std::filesystem::path& file);
std::string uncompressed_extension(const std::filesystem::path& file);

// The bytes of a file, or of standard input for "-", unpacked where they are gzip or zstd (told by
// their first bytes, several members or frames in a row included).
class ByteSource {
 public:
  // `stop` is asked before each read, and while a pipe or terminal has nothing to read; true: as if
  // it had ended.
  using Stop = std::function<bool()>;
  static std::unique_ptr<ByteSource> open(const std::filesystem::path& path, Stop stop = {});
  virtual ~ByteSource() = default;

  // Fills the front of `out` and returns how much; 0 at the end. Throws an Error that tells what is
  // broken, and leaves it to the caller to say where.
  virtual size_t read(std::span<char> out) = 0;

  // Whether read() would now wait for a pipe or a terminal; false where it cannot tell.
  virtual bool would_wait() const = 0;

  virtual int64_t file_position() const = 0;  // bytes of the file used so far, packed as they are
};

}  // namespace convseq
