#pragma once

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

// Numbers on the command line: read exactly and whole, refused outside their range.
namespace convseq::cli {

inline constexpr int64_t kMostCount = 1'000'000'000'000'000;
inline constexpr int64_t kMostRows = 1'000'000'000;  // examples, documents, lines
inline constexpr int64_t kMostThreads = 1024;
inline constexpr int64_t kLongest = int64_t{1} << 20;  // tokens in a source or a target

struct CountRange {
  int64_t min = 1;
  int64_t max = kMostCount;
};

struct RealRange {
  double min = 0;
  double max = 1e15;
  bool above_min = false;  // min itself is refused
};

// The whole text as a finite number, or nothing.
std::optional<double> parse_real(std::string_view text);

// "--steps: 0; allowed: 1 to 1000" where `text` is not what the flag takes.
int64_t count_of_flag(const std::string& flag, const std::string& text, CountRange range);
double real_of_flag(const std::string& flag, const std::string& text, RealRange range);
uint64_t seed_of_flag(const std::string& flag, const std::string& text);

// "16G", "500M", "2T" or a number of bytes, in powers of 1000.
double size_of_flag(const std::string& flag, const std::string& text);

// What an error calls an option that was declared as "OUT,--out": "--out".
std::string flag_name(const std::string& names);

// A whole number; `value` may also be a std::optional, which shows no default.
template <class Count>
CLI::Option* add_count(CLI::App& command, const std::string& names, Count& value,
                       const std::string& help, CountRange range = {}) {
  constexpr bool kPlain = std::is_integral_v<Count>;
  const auto set = [&value, range, flag = flag_name(names)](const std::string& text) {
    if constexpr (kPlain) {
      value = static_cast<Count>(count_of_flag(flag, text, range));
    } else {
      value = static_cast<typename Count::value_type>(count_of_flag(flag, text, range));
    }
  };
  CLI::Option* option = command.add_option_function<std::string>(names, set, help);
  option->type_name("INT");
  if constexpr (kPlain) option->default_str(std::to_string(value));
  return option;
}

// Whole numbers, repeated or separated by commas.
template <class Count>
CLI::Option* add_counts(CLI::App& command, const std::string& names, std::vector<Count>& values,
                        const std::string& help, CountRange range = {}) {
  const auto set = [&values, range,
                    flag = flag_name(names)](const std::vector<std::string>& texts) {
    values.clear();
    for (const std::string& text : texts) {
      values.push_back(static_cast<Count>(count_of_flag(flag, text, range)));
    }
  };
  return command.add_option_function<std::vector<std::string>>(names, set, help)
      ->type_name("INT,...")
      ->delimiter(',')
      ->default_str(fmt::format("{}", fmt::join(values, ",")));
}

// A finite number; `value` may also be a std::optional, which shows no default.
template <class Real>
CLI::Option* add_real(CLI::App& command, const std::string& names, Real& value,
                      const std::string& help, RealRange range = {}) {
  const auto set = [&value, range, flag = flag_name(names)](const std::string& text) {
    value = real_of_flag(flag, text, range);
  };
  CLI::Option* option = command.add_option_function<std::string>(names, set, help);
  option->type_name("NUMBER");
  if constexpr (std::is_floating_point_v<Real>) option->default_str(fmt::format("{}", value));
  return option;
}

CLI::Option* add_seed(CLI::App& command, uint64_t& seed, const std::string& help);

// --max-memory: `bytes` stays 0 where it is not given, which means what is free.
CLI::Option* add_max_memory(CLI::App& command, double& bytes);

}  // namespace convseq::cli
