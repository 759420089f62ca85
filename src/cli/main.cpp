#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <new>

#include "convseq/base/memory.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/frame/command_table.h"
#include "convseq/cli/frame/config_file.h"
#include "convseq/cli/frame/help_format.h"
#include "convseq/cli/frame/usage_error.h"
#include "convseq/cli/signals.h"

namespace convseq::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

int report(int code, std::string_view message) {
  // Not fmt::print: it would throw where standard error cannot be written either.
  std::fputs(fmt::format("convseq: {}\n", message).c_str(), stderr);
  return code;
}

// Help lists them under "Commands", not "Subcommands".
void name_groups(CLI::App& command) {
  for (CLI::App* sub : command.get_subcommands([](CLI::App*) { return true; })) {
    sub->group("Commands");
    name_groups(*sub);
  }
}

void add_commands(CLI::App& program) {
  program.require_subcommand(1);
  program.fallthrough(false);
  program.formatter(std::make_shared<HelpFormat>());  // the commands take it over
  program.set_version_flag("--version", "convseq " CONVSEQ_VERSION, "Version, in one line");
  add_pretrain(program);
  add_finetune(program);
  add_evaluate(program);
  add_tokenizer(program);
  add_tokenize(program);
  add_task(program);
  add_inspect(program);
  add_convert(program);
  add_synth(program);
  add_bench(program);
  add_version(program);
  add_completion(program);
  add_man(program);
  add_help(program);
  add_config_option(program);
  name_groups(program);
  program.footer("Help on a command: convseq help COMMAND");
}

// The library names no flags; whoever was refused for lack of memory may know better.
std::string with_way_out(const NotEnoughMemory& error, const CLI::App& command) {
  if (command.get_option_no_throw("--max-memory") == nullptr) return error.what();
  return fmt::format("{}; use smaller sizes, or --max-memory {:.0f}G to try anyway", error.what(),
                     std::ceil(error.needed() / 1e9));
}

int run(CLI::App& program, std::vector<std::string> arguments) {
  try {
    arguments = with_config_first(arguments);
    check_commands(program, arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    program.parse(arguments);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", help_of(chosen_command(program)));
  } catch (const CLI::CallForVersion& version) {
    fmt::print("{}\n", version.what());
  } catch (const CLI::ParseError& error) {
    return report(kBadInput, usage_error(program, error));
  } catch (const NotEnoughMemory& error) {
    return report(kBadInput, with_way_out(error, chosen_command(program)));
  }
  return 0;
}

// A path that nothing can be read from or written to, not a disk that failed.
bool is_bad_path(const std::error_code& code) {
  return code == std::errc::too_many_symbolic_link_levels || code == std::errc::not_a_directory ||
         code == std::errc::filename_too_long || code == std::errc::no_such_file_or_directory ||
         code == std::errc::permission_denied;
}

// libtorch appends a backtrace.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

int run_safely(const std::vector<std::string>& arguments) {
  try {
    CLI::App program(
        "Pre-train, fine-tune, evaluate and measure convolutional seq2seq models, and the "
        "Transformer they are compared with.",
        "convseq");
    add_commands(program);
    return run(program, arguments);
  } catch (const Stopped& stopped) {
    return report(kStoppedExitCode, stopped.what());
  } catch (const Error& error) {
    return report(kBadInput, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return report(is_bad_path(error.code()) ? kBadInput : kFailed,
                  fmt::format("{}: {}", error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return report(kFailed, "out of memory; use smaller sizes");
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return kFailed;  // said below
    return report(kFailed, first_line(error.what()));
  }
}

// Whatever a command prints is buffered: a full disk shows only here.
int flushed(int code) {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed) return code;
  const std::string why = errno != 0 ? std::strerror(errno) : "write error";
  return report(code == 0 ? kFailed : code, "standard output: cannot write: " + why);
}

}  // namespace
}  // namespace convseq::cli

int main(int argc, char** argv) {
  convseq::cli::stop_at_once_on_signals();
  return convseq::cli::flushed(
      convseq::cli::run_safely(std::vector<std::string>(argv + 1, argv + argc)));
}
