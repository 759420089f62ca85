#pragma once

#include <fmt/format.h>

#include <stdexcept>

namespace convseq {

// What the outside did wrong: a file, a flag, a request. One line that names the thing, the value
// and the way out. A broken promise inside the program asserts instead.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The user ended it, by Ctrl-C or SIGTERM. The message names what was stopped, and says whether the
// same command goes on. The program exits with 130.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
  if (!holds) fail(format, std::forward<Args>(args)...);
}

}  // namespace convseq
