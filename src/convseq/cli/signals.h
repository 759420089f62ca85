#pragma once

#include "convseq/base/error.h"

// SIGINT and SIGTERM, the same for all commands. The program ends with exit code 130 and one line
// on standard error; a second signal ends it immediately.
namespace convseq::cli {

constexpr int kStoppedExitCode = 130;

// main() calls this: until a command polls, a signal ends the program immediately. Phases that do
// not poll have no temporary files.
void stop_at_once_on_signals(const char* program);

// From here on the first signal only makes interrupted() true, for the command to end cleanly and
// throw Stopped.
void end_on_signals();
// The same, and later signals do nothing: for a process that must not end while a GPU works for it.
void end_cleanly_on_signals();
// Undoes it, for phases that have nothing to clean up.
void stop_at_once_again();
bool interrupted();

// Throws Stopped with this message where a signal came.
template <class... Args>
void throw_if_interrupted(fmt::format_string<Args...> format, Args&&... args) {
  if (interrupted()) throw Stopped(fmt::format(format, std::forward<Args>(args)...));
}

// For what reads input (ByteSource::Stop): throws Stopped with this message where a signal came.
inline auto stop_reading(std::string message) {
  return [message = std::move(message)] {
    throw_if_interrupted("{}", message);
    return false;
  };
}

}  // namespace convseq::cli
