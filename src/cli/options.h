#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>

#include "base/enum_names.h"

namespace convseq::cli {

// CLI11's own PositiveNumber says "not in range 0.000000 to 17976931348…".
inline CLI::Validator number_check(const char* name, bool zero_too) {
  const auto check = [zero_too](const std::string& text) -> std::string {
    double value = 0;
    if (!CLI::detail::lexical_cast(text, value)) return text + " is no number";
    if (value > 0 || (zero_too && value == 0)) return "";
    return fmt::format("{}; must be {}", text, zero_too ? "0 or more" : "more than 0");
  };
  return CLI::Validator(check, name);
}
inline const CLI::Validator kPositive = number_check("POSITIVE", false);
inline const CLI::Validator kNotNegative = number_check("NONNEGATIVE", true);

template <NamedEnum Enum>
Enum enum_of_flag(const std::string& flags, const std::string& name) {
  const auto found = enum_from_name<Enum>(name);
  if (!found) throw CLI::ValidationError(flags, name + "; allowed: " + all_names<Enum>());
  return *found;
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
  const char* begin = text.c_str() + equals + 1;
  char* end = nullptr;
  const double number = std::strtod(begin, &end);
  const bool is_number = end != begin && *end == '\0';
  return {.name = text.substr(0, equals),
          .has_equals = true,
          .number = is_number ? std::optional(number) : std::nullopt};
}

// An option that takes the name of an enum's value, "--model unigram"; help and errors list them.
template <NamedEnum Enum>
CLI::Option* add_enum(CLI::App& command, const std::string& flags, Enum& value,
                      const std::string& description) {
  const auto set = [&value, flags](const std::string& name) {
    value = enum_of_flag<Enum>(flags, name);
  };
  return command
      .add_option_function<std::string>(flags, set,
                                        fmt::format("{} ({})", description, all_names<Enum>()))
      ->type_name("NAME")
      ->default_str(std::string(name_of(value)));
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
  return command
      .add_option_function<std::vector<std::string>>(
          flags, set, fmt::format("{} ({})", description, all_names<Enum>()))
      ->type_name("NAME,...")
      ->delimiter(',')
      ->default_str(fmt::format("{}", fmt::join(defaults, ",")));
}

}  // namespace convseq::cli
