#include "convseq/base/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace convseq {

std::string format_duration(std::chrono::seconds duration) {
  const int64_t seconds = std::max<int64_t>(duration.count(), 0);
  if (seconds < 3600) return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

Progress::Progress(ProgressOptions options)
    : options_(std::move(options)),
      terminal_(::isatty(::fileno(options_.out)) != 0),
      start_(options_.clock()),
      last_draw_(start_) {}

Progress::~Progress() { finish(); }

void Progress::update(int64_t done, const std::string& note) {
  updated_ = true;
  if (!options_.first) options_.first = std::max<int64_t>(done - 1, 0);
  done_ = done;
  note_ = note;
  const Time now = options_.clock();
  if (now - last_draw_ >= (terminal_ ? options_.bar_interval : options_.line_interval)) draw(now);
}

void Progress::finish() {
  if (finished_ || !updated_) return;
  finished_ = true;
  draw(options_.clock());
  if (terminal_) std::fputc('\n', options_.out);
}

std::string Progress::describe(Time now) const {
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const double rate =
      seconds > 0 ? static_cast<double>(done_ - options_.first.value_or(0)) / seconds : 0;
  std::string line = options_.label;
  if (options_.total > 0) {
    constexpr int kWidth = 20;
    const double share =
        std::clamp(static_cast<double>(done_) / static_cast<double>(options_.total), 0.0, 1.0);
    line += fmt::format(" {:3}%", static_cast<int>(share * 100));
    if (terminal_)
      line +=
          fmt::format(" [{:<{}}]", std::string(static_cast<size_t>(share * kWidth), '#'), kWidth);
    line += fmt::format(" {}/{}", done_, options_.total);
  } else {
    line += fmt::format(" {}", done_);
  }
  if (!options_.unit.empty()) {
    const bool is_one = options_.total == 0 && done_ == 1 && options_.unit.ends_with('s');
    line += " " + options_.unit.substr(0, options_.unit.size() - (is_one ? 1 : 0));
  }
  if (rate > 0) line += fmt::format("  {:.{}f}/s", rate, rate < 100 ? 1 : 0);
  if (rate > 0 && options_.total > done_) {
    const auto left = static_cast<int64_t>(static_cast<double>(options_.total - done_) / rate);
    line += "  " + format_duration(std::chrono::seconds(left)) + " left";
  }
  if (!note_.empty()) line += "  " + note_;
  return line;
}

void Progress::draw(Time now) {
  last_draw_ = now;
  // "\r" returns to the line's start, "\033[K" clears what the longer line before left.
  const std::string line = describe(now);
  fmt::print(options_.out, "{}", terminal_ ? "\r" + line + "\033[K" : line + "\n");
  std::fflush(options_.out);
}

}  // namespace convseq
