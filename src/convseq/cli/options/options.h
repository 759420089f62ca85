#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "convseq/base/enum_names.h"
#include "convseq/base/nearest_name.h"
#include "convseq/cli/options/numbers.h"

namespace convseq::cli {

template <NamedEnum Enum>
std::vector<std::string> names_of() {
  std::vector<std::string> names;
  for (const auto& entry : kEnumNames<Enum>) names.emplace_back(entry.second);
  return names;
}

// How help, completion and the manual see an option's choices: "auto|cpu|cuda".
template <NamedEnum Enum>
std::string choices_of() {
  return fmt::format("{}", fmt::join(names_of<Enum>(), "|"));
}

template <NamedEnum Enum>
Enum enum_of_flag(const std::string& flags, const std::string& name) {
  if (const auto found = enum_from_name<Enum>(name)) return *found;
  throw CLI::ValidationError(flag_name(flags),
                             fmt::format("{}; allowed: {}{}", name, all_names<Enum>(),
                                         did_you_mean(name, names_of<Enum>())));
}

// "c4=0.7" as name and number; no number where there is no "=" or what follows it is none.
struct NamedNumber {
  std::string name;
  bool has_equals = false;
  std::optional<double> number;
};

inline NamedNumber named_number(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos) return {.name = text, .has_equals = false, .number = {}};
  return {.name = text.substr(0, equals),
          .has_equals = true,
          .number = parse_real(std::string_view(text).substr(equals + 1))};
}

// An option that takes the name of an enum's value, "--model unigram"; help and errors list them.
template <NamedEnum Enum>
CLI::Option* add_enum(CLI::App& command, const std::string& flags, Enum& value,
                      const std::string& description) {
  const auto set = [&value, flags](const std::string& name) {
    value = enum_of_flag<Enum>(flags, name);
  };
  return command.add_option_function<std::string>(flags, set, description)
      ->type_name(choices_of<Enum>())
      ->default_str(std::string(name_of(value)));
}

// The same where none is chosen until the flag is given; `description` says what happens then.
template <NamedEnum Enum>
CLI::Option* add_enum(CLI::App& command, const std::string& flags, std::optional<Enum>& value,
                      const std::string& description) {
  const auto set = [&value, flags](const std::string& name) {
    value = enum_of_flag<Enum>(flags, name);
  };
  return command.add_option_function<std::string>(flags, set, description)
      ->type_name(choices_of<Enum>());
}

// The same for a list of names: "--family pair,span".
template <NamedEnum Enum>
CLI::Option* add_enums(CLI::App& command, const std::string& flags, std::vector<Enum>& values,
                       const std::string& description) {
  const auto set = [&values, flags](const std::vector<std::string>& names) {
    values.clear();
    for (const std::string& name : names) values.push_back(enum_of_flag<Enum>(flags, name));
  };
  std::vector<std::string> defaults;
  for (Enum value : values) defaults.emplace_back(name_of(value));
  return command.add_option_function<std::vector<std::string>>(flags, set, description)
      ->type_name(choices_of<Enum>() + ",...")
      ->delimiter(',')
      ->default_str(fmt::format("{}", fmt::join(defaults, ",")));
}

}  // namespace convseq::cli
