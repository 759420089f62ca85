#include "convseq/cli/options/objective_flags.h"

#include <algorithm>

#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

std::string flag_of(const ObjectiveOption& option) {  // "min_prefix" is --min-prefix
  std::string flag(option.name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

}  // namespace

void add_objective_flags(CLI::App& command, ObjectiveFlags& flags) {
  add_enum(command, "--objective", flags.kind, "Pre-training objective");
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    for (const auto& [option, value] : default_numbers(kind)) {
      double& number = flags.numbers[std::string(option.name)] = value;
      add_real(command, "--" + flag_of(option), number, fmt::format("{} ({})", option.help, name),
               {.min = option.min, .max = option.max});
    }
  }
}

ObjectiveOptions options_of(const ObjectiveFlags& flags) {
  ObjectiveOptions options{.kind = flags.kind, .numbers = {}};
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    for (const auto& [option, value] : default_numbers(kind)) {
      const double given = flags.numbers.find(option.name)->second;
      if (kind == flags.kind) options.numbers.emplace(option.name, given);
      require(kind == flags.kind || given == value,
              "--{} {}: is an option of the objective {}, and this run has {}", flag_of(option),
              given, name, name_of(flags.kind));
    }
  }
  return options;
}

std::vector<std::string> flags_of_others(const ObjectiveFlags& flags) {
  std::vector<std::string> names;
  for (const auto& entry : kEnumNames<ObjectiveKind>) {
    if (entry.first == flags.kind) continue;
    for (const ObjectiveNumber& number : default_numbers(entry.first)) {
      names.push_back(flag_of(number.option));
    }
  }
  return names;
}

}  // namespace convseq::cli
