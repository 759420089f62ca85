#include "convseq/cli/signals.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

namespace convseq::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;
volatile std::sig_atomic_t polled = 0;
volatile std::sig_atomic_t on_terminal = 0;

// Calls only what a signal handler may call.
void on_signal(int) {
  if (polled != 0 && interrupts == 0) {
    interrupts = 1;
    return;
  }
  // On a terminal the cursor may be behind a progress bar.
  const std::string_view line = on_terminal != 0 ? "\nconvseq: stopped\n" : "convseq: stopped\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
  std::_Exit(kStoppedExitCode);
}

}  // namespace

void stop_at_once_on_signals() {
  on_terminal = ::isatty(STDERR_FILENO);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, on_signal);
}

void end_on_signals() { polled = 1; }

bool interrupted() { return interrupts != 0; }

}  // namespace convseq::cli
