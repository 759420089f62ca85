#pragma once

#include <CLI/CLI.hpp>

#include "base/enum_names.h"

namespace convseq::cli {

// An option that takes the name of an enum's value, "--model unigram"; help and errors list them.
template <NamedEnum Enum>
CLI::Option* add_enum(CLI::App& command, const std::string& flags, Enum& value,
                      const std::string& description) {
  const auto set = [&value, flags](const std::string& name) {
    const auto found = enum_from_name<Enum>(name);
    if (!found) throw CLI::ValidationError(flags, name + "; allowed: " + all_names<Enum>());
    value = *found;
  };
  return command
      .add_option_function<std::string>(flags, set,
                                        fmt::format("{} ({})", description, all_names<Enum>()))
      ->type_name("NAME")
      ->default_str(std::string(name_of(value)));
}

}  // namespace convseq::cli
