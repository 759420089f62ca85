#pragma once

#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace convseq {

// An option of the library in the text of an Error: the name of its field, alone or with a value.
// what() writes "held_out=0"; a program writes its own spelling, "--held-out 0".
struct OptionName {
  explicit OptionName(std::string_view given) : name(given) {}
  template <class T>
  OptionName(std::string_view given, const T& to) : name(given), value(fmt::format("{}", to)) {}

  std::string name;
  std::string value;  // empty: none
};

using OptionSpelling = std::function<std::string(const OptionName&)>;

// Bad input from outside (a file, an option, a request), or a failure of the machine (a full disk).
// One line that names the thing, the value and the way out. A broken invariant inside the program
// is an assertion instead.
class Error : public std::runtime_error {
 public:
  enum class Cause { BadInput, Failure };  // what the caller gave, or what the machine did

  explicit Error(std::string problem, Cause cause = Cause::BadInput, std::string where = "");

  const std::string& where() const { return where_; }  // "data.csv:7"; empty: not known
  std::string problem() const;
  Cause cause() const { return cause_; }

  // "WHERE: PROBLEM" in one line, with options as `spell` writes them; what() has the library's
  // own names.
  std::string message(const OptionSpelling& spell) const;

  Error at(std::string_view place) const;   // found in `place`: a file, "file:line", a key
  Error with(std::string_view more) const;  // "; MORE" behind the problem: a way out

 private:
  std::string where_, problem_;  // OptionNames in it are still marked as such
  Cause cause_;
};

// The user stopped the command with Ctrl-C or SIGTERM. The message names what was stopped, and says
// whether the same command resumes it. The program exits with 130.
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

std::string marked(const OptionName& option);  // as Error finds it again in its text

}  // namespace convseq

template <>
struct fmt::formatter<convseq::OptionName> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const convseq::OptionName& option, Context& context) const {
    return fmt::formatter<std::string>::format(convseq::marked(option), context);
  }
};
