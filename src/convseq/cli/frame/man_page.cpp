#include "convseq/cli/frame/man_page.h"

#include <fmt/ranges.h>

namespace convseq::cli {
namespace {

// Text that troff prints as it stands: backslashes and hyphens escaped, no line that looks like a
// request.
std::string plain(const std::string& text) {
  std::string escaped;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) escaped += "\\&";
    line_begins = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + plain(text) + "\\fR"; }

std::string usage(const CommandEntry& program, const CommandEntry& command) {
  std::string line = bold(program.name + (command.path.empty() ? "" : " " + command.path));
  for (const OptionEntry& option : command.options) {
    if (option.positional.empty()) continue;
    const std::string name = italic(option.positional) + (option.list ? " ..." : "");
    line += option.required ? " " + name : " [" + name + "]";
  }
  return line + " [" + italic("options") + "]\n";
}

std::string entry(const OptionEntry& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(bold(name));
  std::string head = fmt::format("{}", fmt::join(names, ", "));
  if (!option.positional.empty()) {
    head = italic(option.positional) + (head.empty() ? "" : ", " + head);
  }
  if (!option.flag() && !option.names.empty()) head += " " + italic(option.value);
  std::string text = ".TP\n" + head + "\n" + plain(option.description);
  if (option.required) text += " (required)";
  if (!option.default_text.empty()) text += plain(" (default: " + option.default_text + ")");
  if (!option.environment.empty()) text += plain(" (environment: " + option.environment + ")");
  return text + "\n";
}

// The footer as it stands, line for line.
std::string example(const CommandEntry& command) {
  if (command.footer.empty()) return "";
  return ".PP\n.nf\n" + plain(command.footer) + "\n.fi\n";
}

std::string section(const CommandEntry& program, const CommandEntry& command) {
  std::string text = ".SS " + plain(program.name + " " + command.path) + "\n" +
                     plain(command.description) + ".\n.PP\n" + usage(program, command);
  for (const OptionEntry& option : command.options) text += entry(option);
  return text + example(command);
}

}  // namespace

std::string man_page(const CommandEntry& program, const std::string& version) {
  std::string title = program.name;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string text = fmt::format(
      ".\\\" Written by {0} man\n.TH {1} 1 \"\" \"{0} {2}\" \"User Commands\"\n.SH NAME\n"
      "{0} \\- {3}\n.SH SYNOPSIS\n{4} {5} [{6}]\n.SH DESCRIPTION\n",
      program.name, title, plain(version), plain("convolutional and Transformer seq2seq models"),
      bold(program.name), italic("command"), italic("options"));
  text += plain(program.description) + "\n";
  for (const OptionEntry& option : program.options) text += entry(option);
  text += ".SH COMMANDS\n";
  for_each_command(program, [&](const CommandEntry& command) {
    if (!command.path.empty() && command.commands.empty()) text += section(program, command);
  });
  return text +
         ".SH EXIT STATUS\n.TP\n0\nThe command did its work.\n.TP\n1\nThe command failed.\n"
         ".TP\n2\nThe input or the options are wrong.\n.TP\n130\nA signal stopped it. The message "
         "says whether the same command resumes.\n";
}

}  // namespace convseq::cli
