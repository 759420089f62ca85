#pragma once

#include <string>

#include "convseq/cli/frame/command_table.h"

namespace convseq::cli {

// convseq(1) in troff, with every command and option of the table.
std::string man_page(const CommandEntry& program, const std::string& version);

}  // namespace convseq::cli
