#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "base/enum_names.h"

namespace convseq::cli {

template <NamedEnum Enum>
CLI::ValidationError refused_name(const std::string& flags, const std::string& name) {
  return CLI::ValidationError(flags, name + "; allowed: " + all_names<Enum>());
}

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
            if (!set(name)) throw refused_name<Enum>(flags, name);
          },
          fmt::format("{} ({})", description, all_names<Enum>()))
      ->type_name("NAME")
      ->default_str(std::string(name_of(value)));
}

// The same for a list of names: "--family pair,span".
template <NamedEnum Enum>
CLI::Option* add_enums(CLI::App& command, const std::string& flags, std::vector<Enum>& values,
                       const std::string& description) {
  std::vector<std::string> defaults;
  for (Enum value : values) defaults.emplace_back(name_of(value));
  return command
      .add_option_function<std::vector<std::string>>(
          flags,
          [&values, flags](const std::vector<std::string>& names) {
            values.clear();
            for (const std::string& name : names) {
              const auto found = enum_from_name<Enum>(name);
              if (!found) throw refused_name<Enum>(flags, name);
              values.push_back(*found);
            }
          },
          fmt::format("{} ({})", description, all_names<Enum>()))
      ->type_name("NAME,...")
      ->delimiter(',')
      ->default_str(fmt::format("{}", fmt::join(defaults, ",")));
}

}  // namespace convseq::cli
