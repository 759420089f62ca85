#include "convseq/cli/frame/command_table.h"

#include <algorithm>
#include <array>

#include "convseq/text/split.h"

namespace convseq::cli {
namespace {

std::vector<std::string> split_choices(std::string value) {
  constexpr std::string_view kListMark = ",...";
  if (value.ends_with(kListMark)) value.resize(value.size() - kListMark.size());
  return value.find('|') == value.npos ? std::vector<std::string>{} : split(value, "|");
}

CommandEntry describe_command(const CLI::App& command, const std::string& path) {
  CommandEntry entry{.path = path,
                     .name = command.get_name(),
                     .description = command.get_description(),
                     .footer = command.get_footer(),
                     .options = {},
                     .commands = {}};
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) entry.options.push_back(describe_option(*option));
  }
  for (const CLI::App* sub : subcommands_of(command)) {
    const std::string below = path.empty() ? sub->get_name() : path + " " + sub->get_name();
    entry.commands.push_back(describe_command(*sub, below));
  }
  return entry;
}

}  // namespace

bool OptionEntry::takes_number() const {
  constexpr std::array kTypes = {"INT", "NUMBER", "SIZE", "UINT", "FLOAT"};
  return std::any_of(kTypes.begin(), kTypes.end(),
                     [&](const char* type) { return value.starts_with(type); });
}

bool OptionEntry::takes_file() const { return !flag() && choices.empty() && !takes_number(); }

OptionEntry describe_option(const CLI::Option& option) {
  OptionEntry entry{.positional = option.get_positional() ? option.get_name(true, false) : "",
                    .names = {},
                    .value = option.get_items_expected_max() == 0 ? "" : option.get_type_name(),
                    .choices = {},
                    .list = option.get_items_expected_max() > 1,
                    .required = option.get_required(),
                    .description = option.get_description(),
                    .default_text = option.get_default_str(),
                    .environment = option.get_envname()};
  for (const std::string& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_items_expected_max() == 0) {
    entry.default_text.clear();
  } else {
    entry.choices = split_choices(entry.value);
  }
  return entry;
}

CommandEntry command_table(const CLI::App& program) { return describe_command(program, ""); }

void for_each_command(const CommandEntry& root,
                      const std::function<void(const CommandEntry&)>& visit) {
  visit(root);
  for (const CommandEntry& command : root.commands) for_each_command(command, visit);
}

std::vector<const CLI::App*> subcommands_of(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> subcommand_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* sub : subcommands_of(command)) names.push_back(sub->get_name());
  return names;
}

const CLI::App& chosen_command(const CLI::App& program) {
  const CLI::App* command = &program;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

}  // namespace convseq::cli
