#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace convseq::cli {

// Throws for the first word that is not a command, and suggests the one that was probably meant.
void check_commands(const CLI::App& program, const std::vector<std::string>& arguments);

// One line for a parse error of CLI11: it names the command, the option that was probably meant,
// and how to get help.
std::string usage_error(const CLI::App& program, const CLI::ParseError& error);

}  // namespace convseq::cli
