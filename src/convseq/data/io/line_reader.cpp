#include "convseq/data/io/line_reader.h"

#include <cstring>

#include "convseq/base/error.h"
#include "convseq/base/utf8.h"

namespace convseq {
namespace {
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
}  // namespace

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == line.npos; }

std::string utf8_problem(std::string_view line) {
  const auto invalid = find_invalid_utf8(line);
  if (!invalid) return "";
  return fmt::format("not UTF-8: byte {} of the line is 0x{:02X}", *invalid + 1,
                     static_cast<unsigned char>(line[*invalid]));
}

LineReader::LineReader(std::filesystem::path path, LineReaderOptions options)
    : path_(std::move(path)),
      max_line_bytes_(options.max_line_bytes),
      bad_lines_(options.bad_lines != nullptr ? *options.bad_lines : stopping_),
      source_(ByteSource::open(path_, std::move(options.stop))),
      buffer_(kReadBytes) {}

bool LineReader::next(std::string& line) {
  while (!done_) {
    Got got = Got::Nothing;
    ++line_number_;
    try {
      got = read_line(line, bad_lines_.stops());
    } catch (const Error& error) {
      done_ = true;
      report(error.with("nothing after it can be read"));
      return false;
    }
    if (got == Got::Nothing) {
      --line_number_;
      done_ = true;
    } else if (got == Got::LongLine) {
      report(Error(fmt::format("a line of more than {} bytes", max_line_bytes_)));
    } else if (const auto problem = checks_utf8_ ? utf8_problem(line) : ""; !problem.empty()) {
      report(Error(problem));
    } else {
      return true;
    }
  }
  return false;
}

void LineReader::skip(int64_t lines) {
  std::string line;
  while (lines-- > 0 && read_line(line) != Got::Nothing) ++line_number_;
}

bool LineReader::would_wait(bool skips_blank_lines) const {
  std::string_view left(buffer_.data() + begin_, end_ - begin_);
  for (size_t end = left.find('\n'); end != left.npos; end = left.find('\n')) {
    if (!skips_blank_lines || !is_blank(left.substr(0, end))) return false;
    left.remove_prefix(end + 1);
  }
  return !done_ && source_->would_wait();
}

LineReader::Got LineReader::read_line(std::string& line, bool leave_long_line) {
  line.clear();
  bool too_long = false, any = false, ended = false;
  while (!ended && (begin_ < end_ || fill())) {
    any = true;
    const char* start = buffer_.data() + begin_;
    const auto* newline = static_cast<const char*>(std::memchr(start, '\n', end_ - begin_));
    ended = newline != nullptr;
    const size_t count = ended ? static_cast<size_t>(newline - start) : end_ - begin_;
    too_long = too_long || line.size() + count > max_line_bytes_;
    if (too_long && leave_long_line) return Got::LongLine;
    if (!too_long) line.append(start, count);
    begin_ += count + (ended ? 1 : 0);
  }
  if (!any) return Got::Nothing;
  if (too_long) return Got::LongLine;
  if (line.ends_with('\r')) line.pop_back();
  if (line_number_ == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
  return Got::Line;
}

bool LineReader::fill() {
  begin_ = 0;
  end_ = source_->read(buffer_);
  return end_ > 0;
}

std::string LineReader::where(int64_t line) const {
  return fmt::format("{}:{}", path_ == "-" ? "standard input" : path_.string(),
                     std::max<int64_t>(line, 1));
}

}  // namespace convseq
