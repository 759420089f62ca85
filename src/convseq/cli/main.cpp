#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>

#include "convseq/base/file/system_error.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/frame/command_table.h"
#include "convseq/cli/frame/config_file.h"
#include "convseq/cli/frame/flag_spelling.h"
#include "convseq/cli/frame/help_format.h"
#include "convseq/cli/frame/usage_error.h"
#include "convseq/cli/program.h"
#include "convseq/cli/signals.h"

namespace convseq::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

int report(int code, std::string_view message) {
  // Not fmt::print, which would throw if standard error cannot be written.
  std::fputs(fmt::format("{}: {}\n", program_name(), message).c_str(), stderr);
  return code;
}

// Examples are written for convseq.
std::string with_program_name(std::string text) {
  constexpr std::string_view kWritten = "convseq ";
  const std::string name = std::string(program_name()) + " ";
  for (size_t at = text.find(kWritten); at != text.npos; at = text.find(kWritten, at)) {
    text.replace(at, kWritten.size(), name);
    at += name.size();
  }
  return text;
}

// Help lists commands under "Commands", not "Subcommands", and its examples name this program.
void finish_help(CLI::App& command) {
  command.footer(with_program_name(command.get_footer()));
  for (CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) {
    sub->group("Commands");
    finish_help(*sub);
  }
}

void add_commands(CLI::App& program) {
  program.require_subcommand(1);
  program.fallthrough(false);
  program.formatter(std::make_shared<HelpFormat>());  // the commands take it over
  program.set_version_flag("--version", fmt::format("{} {}", program_name(), CONVSEQ_VERSION),
                           "Print the version and exit");
  add_program_commands(program);
  add_version(program);
  add_completion(program);
  add_man(program);
  add_help(program);
  add_config_option(program);
  program.footer(fmt::format("Example:\n  convseq {}\nHelp on a command:\n  convseq help COMMAND",
                             program_example()));
  finish_help(program);
}

int exit_code_of(Error::Cause cause) {
  return cause == Error::Cause::BadInput ? kBadInput : kFailed;
}

int run(CLI::App& program, std::vector<std::string> arguments) {
  try {
    arguments = with_config_first(arguments);
    check_commands(program, arguments);
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 expects
    program.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_of(chosen_command(program)));
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    return report(kBadInput, usage_error(program, error));
  } catch (const Error& error) {
    return report(exit_code_of(error.cause()), message_for(error, chosen_command(program)));
  }
  return 0;
}

// libtorch appends a backtrace.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

int run_safely(const std::vector<std::string>& arguments) {
  try {
    CLI::App program(program_description(), program_name());
    add_commands(program);
    return run(program, arguments);
  } catch (const Stopped& stopped) {
    return report(kStoppedExitCode, stopped.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return report(exit_code_of(cause_of(error.code())),
                  fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return report(kFailed, "out of memory; use smaller sizes");
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return kFailed;  // reported below
    return report(kFailed, first_line(error.what()));
  }
}

// Output is buffered, so a full disk shows only here.
int flushed(int code) {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed) return code;
  const std::string why = errno != 0 ? std::strerror(errno) : "write error";
  return report(code == 0 ? kFailed : code, "standard output: cannot write: " + why);
}

}  // namespace
}  // namespace convseq::cli

int main(int argc, char** argv) {
  convseq::cli::stop_at_once_on_signals(convseq::cli::program_name());
  const int code = convseq::cli::flushed(
      convseq::cli::run_safely(std::vector<std::string>(argv + 1, argv + argc)));
  convseq::cli::end_program(code);
  return code;
}
