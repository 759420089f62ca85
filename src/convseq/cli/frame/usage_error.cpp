#include "convseq/cli/frame/usage_error.h"

#include <fmt/ranges.h>

#include "convseq/base/contains.h"
#include "convseq/base/error.h"
#include "convseq/base/nearest_name.h"
#include "convseq/cli/frame/command_table.h"

namespace convseq::cli {
namespace {

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Arguments that the chosen command and those above it did not consume.
std::vector<std::string> arguments_left(const CLI::App& command) {
  std::vector<std::string> left = command.remaining();
  if (const CLI::App* parent = command.get_parent()) {
    for (std::string& each : arguments_left(*parent)) left.push_back(std::move(each));
  }
  return left;
}

const CLI::Option* missing_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_required() && option->count() == 0) return option;
  }
  return nullptr;
}

}  // namespace

void check_commands(const CLI::App& program, const std::vector<std::string>& arguments) {
  const CLI::App* command = &program;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const std::vector<std::string> names = subcommand_names(*command);
    if (names.empty()) return;
    if (argument.starts_with("-")) {
      const size_t equals = argument.find('=');
      const CLI::Option* option = command->get_option_no_throw(argument.substr(0, equals));
      if (option == nullptr) return;  // CLI11 finds it unknown
      if (option->get_items_expected_max() > 0 && equals == argument.npos) ++i;
      continue;
    }
    require(contains(names, argument), "{} is not a command of {}; allowed: {}{}", argument,
            full_name(*command), fmt::join(names, ", "), did_you_mean(argument, names));
    command = command->get_subcommand(argument);
  }
}

std::string usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = chosen_command(program);
  const std::string name = full_name(command);
  const std::string help = fmt::format(" (see {} --help)", name);
  const std::vector<std::string> left = arguments_left(command);
  for (const std::string& argument : left) {
    if (argument.size() < 2 || argument[0] != '-') continue;
    const std::string option = argument.substr(0, argument.find('='));
    return fmt::format("{} is not an option of {}{}{}", option, name,
                       did_you_mean(option, option_names(command)), help);
  }
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr) return error.what();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    if (const CLI::Option* option = missing_option(command)) {
      const std::string positional = option->get_name(true, false);
      return (positional.empty() ? option->get_name() : positional) + " is required" + help;
    }
    const auto names = subcommand_names(command);
    if (!names.empty()) {
      return fmt::format("{} needs a command: {}{}", name, fmt::join(names, ", "), help);
    }
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !left.empty()) {
    return fmt::format("{} does not take {}{}", name, left.front(), help);
  }
  return error.what() + help;
}

}  // namespace convseq::cli
