#include "convseq/cli/options/numbers.h"

#include <charconv>
#include <cmath>

namespace convseq::cli {
namespace {

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool looks_whole(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

[[noreturn]] void refuse(const std::string& flag, const std::string& text,
                         const std::string& allowed) {
  throw CLI::ValidationError(flag, fmt::format("{}; allowed: {}", text, allowed));
}

}  // namespace

std::optional<double> parse_real(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

int64_t count_of_flag(const std::string& flag, const std::string& text, CountRange range) {
  const auto value = parse_whole<int64_t>(text);
  if (value && *value >= range.min && *value <= range.max) return *value;
  refuse(
      flag, text,
      fmt::format("{}{} to {}", looks_whole(text) ? "" : "a whole number, ", range.min, range.max));
}

double real_of_flag(const std::string& flag, const std::string& text, RealRange range) {
  const auto value = parse_real(text);
  if (value && *value <= range.max && *value >= range.min &&
      !(range.above_min && *value == range.min)) {
    return *value;
  }
  refuse(flag, text,
         range.above_min ? fmt::format("a number over {}, up to {}", range.min, range.max)
                         : fmt::format("a number, {} to {}", range.min, range.max));
}

uint64_t seed_of_flag(const std::string& flag, const std::string& text) {
  if (const auto value = parse_whole<uint64_t>(text)) return *value;
  refuse(flag, text, fmt::format("0 to {}", std::numeric_limits<uint64_t>::max()));
}

double size_of_flag(const std::string& flag, const std::string& text) {
  constexpr std::string_view kSuffixes = "KMGT";
  std::string_view digits = text;
  double scale = 1;
  if (!digits.empty()) {
    const size_t suffix = kSuffixes.find(digits.back());
    if (suffix != kSuffixes.npos) {
      scale = std::pow(1000.0, static_cast<double>(suffix + 1));
      digits.remove_suffix(1);
    }
  }
  const auto value = parse_real(digits);
  if (value && *value > 0 && *value * scale <= 1e18) return *value * scale;
  refuse(flag, text, "a size over 0 such as 16G, 500M or 2T");
}

std::string flag_name(const std::string& names) {
  const size_t begin = names.find("--");
  if (begin == names.npos) return names;
  return names.substr(begin, names.find(',', begin) - begin);
}

CLI::Option* add_seed(CLI::App& command, uint64_t& seed, const std::string& help) {
  const auto set = [&seed](const std::string& text) { seed = seed_of_flag("--seed", text); };
  return command.add_option_function<std::string>("--seed", set, help)
      ->type_name("INT")
      ->default_str(std::to_string(seed));
}

CLI::Option* add_max_memory(CLI::App& command, double& bytes) {
  const auto set = [&bytes](const std::string& text) {
    bytes = size_of_flag("--max-memory", text);
  };
  return command
      .add_option_function<std::string>("--max-memory", set,
                                        "Memory limit, such as 16G (default: the free memory)")
      ->type_name("SIZE");
}

}  // namespace convseq::cli
