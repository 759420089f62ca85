#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/data/io/bad_line.h"
#include "convseq/data/io/byte_source.h"

namespace convseq {

struct LineReaderOptions {
  // A longer line is bad. This bounds the memory: no more of a line is ever held.
  size_t max_line_bytes = 16 << 20;
  BadLines* bad_lines = nullptr;  // null: a bad line is an Error
  ByteSource::Stop stop = {};     // see ByteSource::open()
};

bool is_blank(std::string_view line);  // nothing but spaces and tabs

// "not UTF-8: byte 3 of the line is 0xEF"; empty: it is UTF-8.
std::string utf8_problem(std::string_view line);

// The lines of a file, plain or compressed, or of standard input for "-"; "\n" or "\r\n" ends one,
// a byte order mark is dropped. A line that is too long, or is not UTF-8, is bad; so is the place
// where a compressed stream breaks, and nothing is read past it.
class LineReader {
 public:
  explicit LineReader(std::filesystem::path path, LineReaderOptions options = {});

  bool next(std::string& line);  // false at the end
  void skip(int64_t lines);      // without checking them
  // Whether next() would now wait for a pipe, or, for a caller that skips them, only give out blank
  // lines before.
  bool would_wait(bool skips_blank_lines) const;
  // A caller that puts lines together to records checks those, so that none begins in another.
  void check_utf8(bool check) { checks_utf8_ = check; }

  int64_t file_position() const { return source_->file_position(); }
  int64_t line_number() const { return line_number_; }       // of the last line; the first is 1
  std::string where() const { return where(line_number_); }  // "file:line"
  std::string where(int64_t line) const;

  void report(const Error& problem) {  // that the last line is bad
    bad_lines_.report(problem.at(where()));
  }
  BadLines& bad_lines() { return bad_lines_; }

 private:
  enum class Got { Line, LongLine, Nothing };
  // The rest of a line that is too long is skipped, or left unread if reading ends there.
  Got read_line(std::string& line, bool leave_long_line = false);
  bool fill();

  std::filesystem::path path_;
  const size_t max_line_bytes_;
  BadLines stopping_;
  BadLines& bad_lines_;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  int64_t line_number_ = 0;
  bool checks_utf8_ = true;
  bool done_ = false;
};

}  // namespace convseq
