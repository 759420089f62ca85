#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"

// --config FILE: a JSON object whose keys are long option names without dashes.
//
//   {"out": "models/light", "corpus": ["shards/c4", "shards/wiki"], "steps": 1000, "no-best": true}
//
// A list repeats an option, true sets a flag, false and null leave an option out. The command line
// takes precedence.
namespace convseq::cli {

// Declares --config for every command of a program whose commands are all declared.
void add_config_option(CLI::App& program);

// Moves "--config FILE" from wherever it stands to the front, where the program itself reads it.
std::vector<std::string> with_config_first(const std::vector<std::string>& arguments);

// The options of a command after it was parsed, given or by default, as such an object: the same
// command with --config and this object does the same. `only_if_given` names options whose default
// depends on others ("steps"): they are left out unless they were given.
Json effective_options(const CLI::App& command, const std::vector<std::string>& only_if_given = {});

}  // namespace convseq::cli
