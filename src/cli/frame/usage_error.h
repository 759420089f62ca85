#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace convseq::cli {

// Refuses the first word that is no command, with the one that was probably meant.
void check_commands(const CLI::App& program, const std::vector<std::string>& arguments);

// One line for what CLI11 did not accept: names the command, the option that was probably meant,
// and where help is.
std::string usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace convseq::cli
