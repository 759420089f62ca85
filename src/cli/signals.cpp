#include "cli/signals.h"

#include <csignal>
#include <cstdlib>

namespace convseq::cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

}  // namespace

void end_on_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) {
      if (interrupts != 0) std::_Exit(1);
      interrupts = 1;
    });
  }
}

bool interrupted() { return interrupts != 0; }

}  // namespace convseq::cli
