#include "convseq/cli/frame/completion.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/text/split.h"

namespace convseq::cli {
namespace {

std::vector<std::string> names_of_commands(const CommandEntry& command) {
  std::vector<std::string> names;
  for (const CommandEntry& each : command.commands) names.push_back(each.name);
  return names;
}

std::string joined(const std::vector<std::string>& words, const char* separator = " ") {
  return fmt::format("{}", fmt::join(words, separator));
}

// The choices of a positional argument that has a fixed set.
std::vector<std::string> positional_choices(const CommandEntry& command) {
  for (const OptionEntry& option : command.options) {
    if (!option.positional.empty() && !option.choices.empty()) return option.choices;
  }
  return {};
}

std::string bash_values(const CommandEntry& command, const OptionEntry& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) {
    patterns.push_back(fmt::format("'{}:{}'", command.path, name));
  }
  const std::string action = !option.choices.empty()
                                 ? fmt::format("words '{}'", joined(option.choices))
                             : option.takes_file() ? "files"
                                                   : ":";
  return fmt::format("    {}) {}; return ;;\n", joined(patterns, "|"), action);
}

std::string bash_words(const CommandEntry& command) {
  std::vector<std::string> options;
  for (const OptionEntry& option : command.options) {
    options.insert(options.end(), option.names.begin(), option.names.end());
  }
  std::string plain = "files";
  if (!command.commands.empty()) {
    plain = fmt::format("words '{}'", joined(names_of_commands(command)));
  } else if (const auto choices = positional_choices(command); !choices.empty()) {
    plain = fmt::format("words '{}'", joined(choices));
  }
  return fmt::format("    '{}') if [[ $cur == -* ]]; then words '{}'; else {}; fi ;;\n",
                     command.path, joined(options), plain);
}

std::string bash_script(const CommandEntry& program) {
  std::vector<std::string> paths;
  std::string values, words;
  for_each_command(program, [&](const CommandEntry& command) {
    if (!command.path.empty()) paths.push_back("'" + command.path + "'");
    for (const OptionEntry& option : command.options) {
      if (!option.flag() && !option.names.empty()) values += bash_values(command, option);
    }
    words += bash_words(command);
  });
  return fmt::format(R"(# Completion of {0} for bash: source <({0} completion bash)
_{0}() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path='' next i
  if [[ $cur == '=' ]]; then cur=''; elif [[ $prev == '=' ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  words() {{
    local last=${{cur##*,}}
    mapfile -t COMPREPLY < <(compgen -P "${{cur%"$last"}}" -W "$1" -- "$last")
  }}
  files() {{
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    compopt -o filenames 2> /dev/null
  }}
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="${{path:+$path }}${{COMP_WORDS[i]}}"
    case "$next" in
      {1}) path=$next ;;
      *) break ;;
    esac
  done
  case "$path:$prev" in
{2}  esac
  case "$path" in
{3}  esac
}}
complete -F _{0} {0}
)",
                     program.name, joined(paths, "|"), values, words);
}

// Within single quotes, and within the brackets of _arguments.
std::string zsh_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\'') {
      escaped += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string zsh_function(const std::string& program, const std::string& path) {
  std::string name = "_" + program + (path.empty() ? "" : "_" + path);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string zsh_values(const OptionEntry& option) {
  if (option.flag()) return "";
  if (!option.choices.empty()) return fmt::format(":value:({})", joined(option.choices));
  return option.takes_file() ? ":file:_files" : fmt::format(":{}: ", zsh_text(option.value));
}

std::string zsh_command(const std::string& program, const CommandEntry& command) {
  std::string text = zsh_function(program, command.path) +
                     "() {\n  local curcontext=\"$curcontext\" state line\n  local -a commands\n"
                     "  _arguments -C";
  for (const OptionEntry& option : command.options) {
    for (const std::string& name : option.names) {
      text += fmt::format(" \\\n    '{}{}[{}]{}'", option.list ? "*" : "", name,
                          zsh_text(option.description), zsh_values(option));
    }
  }
  if (command.commands.empty()) {
    const auto choices = positional_choices(command);
    return text + (choices.empty() ? " \\\n    '*:file:_files'\n}\n"
                                   : fmt::format(" \\\n    '1:value:({})'\n}}\n", joined(choices)));
  }
  text += " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n";
  text += "    command)\n      commands=(";
  for (const CommandEntry& each : command.commands) {
    text += fmt::format("\n        '{}:{}'", each.name, zsh_text(each.description));
  }
  text += ")\n      _describe command commands ;;\n    argument)\n      case $line[1] in\n";
  for (const CommandEntry& each : command.commands) {
    text += fmt::format("        {}) {} ;;\n", each.name, zsh_function(program, each.path));
  }
  return text + "      esac ;;\n  esac\n}\n";
}

std::string zsh_script(const CommandEntry& program) {
  std::string text = fmt::format("#compdef {}\n", program.name);
  for_each_command(
      program, [&](const CommandEntry& command) { text += zsh_command(program.name, command); });
  return text +
         fmt::format(
             "if [ \"$funcstack[1]\" = _{0} ]; then _{0} \"$@\"; else compdef _{0} {0}; fi\n",
             program.name);
}

std::string fish_text(const std::string& text) {  // within single quotes
  std::string escaped;
  for (const char c : text) {
    if (c == '\'' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

// True if this command was typed, but none of its own subcommands yet.
std::string fish_condition(const CommandEntry& command) {
  std::string condition;
  if (!command.path.empty()) {
    for (const std::string& word : split(command.path, " ")) {
      condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    }
  }
  if (command.commands.empty()) return condition;
  return fmt::format("{}not __fish_seen_subcommand_from {}",
                     condition.empty() ? "" : condition + "; and ",
                     joined(names_of_commands(command)));
}

std::string fish_option(const OptionEntry& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    text += fmt::format(" -x -a '{}'", joined(option.choices));
  } else if (option.takes_file()) {
    text += " -r -F";
  } else if (!option.flag()) {
    text += " -x";
  }
  return text;
}

std::string fish_script(const CommandEntry& program) {
  std::string text =
      fmt::format("# Completion of {0} for fish: {0} completion fish | source\n", program.name);
  for_each_command(program, [&](const CommandEntry& command) {
    const std::string start =
        fmt::format("complete -c {} -n '{}'", program.name, fish_condition(command));
    for (const CommandEntry& each : command.commands) {
      text += fmt::format("{} -f -a {} -d '{}'\n", start, each.name, fish_text(each.description));
    }
    if (const auto choices = positional_choices(command); !choices.empty()) {
      text += fmt::format("{} -f -a '{}'\n", start, joined(choices));
    }
    for (const OptionEntry& option : command.options) {
      if (option.names.empty()) continue;
      text +=
          fmt::format("{}{} -d '{}'\n", start, fish_option(option), fish_text(option.description));
    }
  });
  return text;
}

}  // namespace

std::string completion_script(Shell shell, const CommandEntry& program) {
  switch (shell) {
    case Shell::Zsh:
      return zsh_script(program);
    case Shell::Fish:
      return fish_script(program);
    default:
      return bash_script(program);
  }
}

}  // namespace convseq::cli
