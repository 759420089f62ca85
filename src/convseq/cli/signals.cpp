#include "convseq/cli/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace convseq::cli {
namespace {

// The kernel chooses the thread that runs the handler, while another polls.
std::atomic<bool> signalled = false;
std::atomic<bool> polled = false;
std::atomic<bool> on_terminal = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // else no signal handler may use it

// Calls only what a signal handler may call.
void on_signal(int) {
  if (polled && !signalled.exchange(true)) return;
  // On a terminal the cursor may be behind a progress bar.
  const std::string_view line = on_terminal ? "\nconvseq: stopped\n" : "convseq: stopped\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  std::_Exit(kStoppedExitCode);
}

}  // namespace

void stop_at_once_on_signals() {
  on_terminal = ::isatty(STDERR_FILENO) == 1;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, on_signal);
}

void end_on_signals() { polled = true; }

bool interrupted() { return signalled; }

}  // namespace convseq::cli
