#include "convseq/cli/commands.h"

#include <fmt/format.h>

#include "convseq/base/error.h"
#include "convseq/cli/frame/command_table.h"
#include "convseq/cli/frame/completion.h"
#include "convseq/cli/frame/help_format.h"
#include "convseq/cli/frame/man_page.h"
#include "convseq/cli/frame/usage_error.h"
#include "convseq/cli/options/options.h"

// The commands about the program itself: help, completion, man.
namespace convseq::cli {
namespace {

void print_help(const CLI::App& program, const std::vector<std::string>& path) {
  check_commands(program, path);
  const CLI::App* command = &program;
  for (const std::string& name : path) {
    require(!subcommands_of(*command).empty(), "{} has no commands: {}", full_name(*command), name);
    command = command->get_subcommand(name);
  }
  fmt::print("{}", help_of(*command));
}

}  // namespace

void add_help(CLI::App& program) {
  auto path = std::make_shared<std::vector<std::string>>();
  CLI::App* command = program.add_subcommand("help", "Show the help of a command");
  command->add_option("COMMAND", *path, "Command, such as pretrain or bench ops")
      ->type_name(fmt::format("{}", fmt::join(subcommand_names(program), "|")));
  command->footer("Example:\n  convseq help bench ops");
  command->callback([&program, path] { print_help(program, *path); });
}

void add_completion(CLI::App& program) {
  auto shell = std::make_shared<Shell>(Shell::Bash);
  CLI::App* command = program.add_subcommand("completion", "Print a shell completion script");
  add_enum(*command, "SHELL", *shell, "Shell")->default_str("")->required();
  command->footer(
      "Examples:\n  source <(convseq completion bash)\n"
      "  convseq completion zsh > ~/.zfunc/_convseq\n"
      "  convseq completion fish > ~/.config/fish/completions/convseq.fish");
  command->callback(
      [&program, shell] { fmt::print("{}", completion_script(*shell, command_table(program))); });
}

void add_man(CLI::App& program) {
  CLI::App* command = program.add_subcommand("man", "Print the manual page in troff");
  command->footer("Example:\n  convseq man | man -l -");
  command->callback(
      [&program] { fmt::print("{}", man_page(command_table(program), CONVSEQ_VERSION)); });
}

}  // namespace convseq::cli
