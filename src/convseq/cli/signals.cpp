#include "convseq/cli/signals.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace convseq::cli {
namespace {

// The kernel chooses the thread that runs the handler, while another polls.
std::atomic<bool> signalled = false;
std::atomic<bool> polled = false;
std::atomic<bool> patient = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // else no signal handler may use it

// "PROGRAM: stopped"; a signal handler may not make it. On a terminal the cursor may be behind a
// progress bar.
std::array<char, 64> stop_line{};

// Calls only what a signal handler may call.
void on_signal(int) {
  if (polled && (!signalled.exchange(true) || patient)) return;
  [[maybe_unused]] const auto written =
      ::write(STDERR_FILENO, stop_line.data(), ::strlen(stop_line.data()));
  std::_Exit(kStoppedExitCode);
}

}  // namespace

void stop_at_once_on_signals(const char* program) {
  std::snprintf(stop_line.data(), stop_line.size(), "%s%s: stopped\n",
                ::isatty(STDERR_FILENO) == 1 ? "\n" : "", program);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, on_signal);
}

void end_on_signals() { polled = true; }

void end_cleanly_on_signals() {
  patient = true;
  polled = true;
}

void stop_at_once_again() { polled = false; }

bool interrupted() { return signalled; }

}  // namespace convseq::cli
