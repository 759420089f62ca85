#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "convseq/base/error.h"

namespace convseq::cli {

// The library names its options by their fields; here they become the flags of `command`:
// "held_out=0" is "--held-out 0", "force=true" is "--force". A flag that an environment variable
// can give is followed by it; an option that the command does not have stays as it is.
std::string flag_of(const OptionName& option, const CLI::App& command);

// The Error in one line, as the user of `command` reads it.
std::string message_for(const Error& error, const CLI::App& command);

}  // namespace convseq::cli
