#pragma once

#include <string>

#include "convseq/base/enum_names.h"
#include "convseq/cli/frame/command_table.h"

namespace convseq {

enum class Shell { Bash, Zsh, Fish };
template <>
inline constexpr auto kEnumNames<Shell> = std::to_array<EnumName<Shell>>({{Shell::Bash, "bash"},
                                                                          {Shell::Zsh, "zsh"},
                                                                          {Shell::Fish, "fish"}});

namespace cli {

// A script that completes commands, options, choices and file names in that shell.
std::string completion_script(Shell shell, const CommandEntry& program);

}  // namespace cli
}  // namespace convseq
