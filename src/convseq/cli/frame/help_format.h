#pragma once

#include <CLI/CLI.hpp>

namespace convseq::cli {

// "--steps INT    Number of optimizer steps [default: 1000]"
class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat();
  std::string make_option(const CLI::Option* option, bool positional) const override;
  std::string make_option_name(const CLI::Option* option, bool positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

// The help of a command, whichever was chosen on the command line.
std::string help_of(const CLI::App& command);

}  // namespace convseq::cli
