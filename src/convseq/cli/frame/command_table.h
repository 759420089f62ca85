#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

// The commands and options of the program as plain data: what help, completion, the manual and
// config files are made from.
namespace convseq::cli {

struct OptionEntry {
  std::string positional;          // "OUT", or ""
  std::vector<std::string> names;  // "--out", "-o"
  std::string value;               // "INT", "auto|cpu|cuda"; "" for a flag
  std::vector<std::string> choices;
  bool list = false;  // takes several values
  bool required = false;
  std::string description;
  std::string default_text;
  std::string environment;

  bool flag() const { return value.empty(); }
  bool takes_number() const;  // nothing to complete
  bool takes_file() const;
};

struct CommandEntry {
  std::string path;  // "bench ops"; "" for the program itself
  std::string name;
  std::string description;
  std::string footer;
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;
};

CommandEntry command_table(const CLI::App& program);
void for_each_command(const CommandEntry& root,
                      const std::function<void(const CommandEntry&)>& visit);  // root first

OptionEntry describe_option(const CLI::Option& option);
std::vector<const CLI::App*> subcommands_of(const CLI::App& command);
std::vector<std::string> subcommand_names(const CLI::App& command);

// The command that was chosen on the command line, and how a user calls it: "convseq bench ops".
const CLI::App& chosen_command(const CLI::App& program);
std::string full_name(const CLI::App& command);

}  // namespace convseq::cli
