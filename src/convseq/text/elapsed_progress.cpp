#include "convseq/text/elapsed_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include "convseq/base/progress.h"

namespace convseq {

ElapsedProgress::ElapsedProgress(ElapsedProgressOptions options)
    : options_(std::move(options)),
      terminal_(::isatty(::fileno(options_.out)) != 0),
      start_(std::chrono::steady_clock::now()),
      thread_([this] { show_now_and_then(); }) {}

ElapsedProgress::~ElapsedProgress() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  thread_.join();
  if (!terminal_) return;
  draw();
  std::fputc('\n', options_.out);
}

void ElapsedProgress::show_now_and_then() {
  const auto interval = terminal_ ? options_.redraw_interval : options_.line_interval;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, interval, [this] { return end_; })) draw();
}

void ElapsedProgress::draw() const {
  const auto passed =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start_);
  const std::string line = options_.label + "  " + format_duration(passed);
  fmt::print(options_.out, "{}", terminal_ ? "\r" + line + "\033[K" : line + "\n");
  std::fflush(options_.out);
}

}  // namespace convseq
