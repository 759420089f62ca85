#include "convseq/cli/frame/help_format.h"

#include <fmt/ranges.h>

#include "convseq/cli/frame/command_table.h"

namespace convseq::cli {

HelpFormat::HelpFormat() {
  label("SUBCOMMAND", "COMMAND");
  label("OPTIONS", "options");
  label("Positionals", "Arguments");
}

std::string HelpFormat::make_option(const CLI::Option* option, bool positional) const {
  const OptionEntry entry = describe_option(*option);
  if (positional == !entry.positional.empty()) return Formatter::make_option(option, positional);
  // The long name of an argument, which config files use.
  std::ostringstream line;
  CLI::detail::format_help(line, make_option_name(option, positional) + make_option_opts(option),
                           "Same as the argument " + entry.positional, column_width_);
  return line.str();
}

std::string HelpFormat::make_option_name(const CLI::Option* option, bool positional) const {
  const OptionEntry entry = describe_option(*option);
  if (positional) return entry.positional;
  return fmt::format("{}", fmt::join(entry.names, ", "));
}

std::string HelpFormat::make_option_opts(const CLI::Option* option) const {
  const OptionEntry entry = describe_option(*option);
  std::string text = entry.flag() ? "" : " " + entry.value;
  if (entry.list && !entry.value.ends_with("...")) text += " ...";
  return text;
}

std::string HelpFormat::make_option_desc(const CLI::Option* option) const {
  const OptionEntry entry = describe_option(*option);
  std::string text = entry.description;
  if (entry.required) text += " [required]";
  if (!entry.default_text.empty()) text += " [default: " + entry.default_text + "]";
  if (!entry.environment.empty()) text += " [environment: " + entry.environment + "]";
  for (const CLI::Option* needed : option->get_needs()) {
    text += " [requires " + needed->get_name() + "]";
  }
  return text;
}

std::string help_of(const CLI::App& command) {
  return command.get_formatter()->make_help(&command, full_name(command),
                                            CLI::AppFormatMode::Normal);
}

}  // namespace convseq::cli
