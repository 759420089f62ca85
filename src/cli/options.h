#pragma once

#include <CLI/CLI.hpp>

#include "base/enum_names.h"

namespace convseq::cli {

// --name with the names of an enum: "--model unigram"; anything else is refused by CLI11, which
// then lists the names.
template <NamedEnum Enum>
CLI::Option* add_enum(CLI::App& command, const std::string& flags, Enum& value,
                      const std::string& description) {
  const auto set = [&value](const std::string& name) {
    const auto found = enum_from_name<Enum>(name);
    if (found) value = *found;
    return found.has_value();
  };
  return command
      .add_option_function<std::string>(
          flags,
          [set, flags](const std::string& name) {
            if (!set(name)) {
              throw CLI::ValidationError(flags, name + "; allowed: " + all_names<Enum>());
            }
          },
          fmt::format("{} ({})", description, all_names<Enum>()))
      ->type_name("NAME")
      ->default_str(std::string(name_of(value)));
}

}  // namespace convseq::cli
