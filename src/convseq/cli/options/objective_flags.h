#pragma once

#include <CLI/CLI.hpp>

#include "convseq/data/objective/make_objective.h"

namespace convseq::cli {

// --objective, and one flag for each option of each objective.
struct ObjectiveFlags {
  ObjectiveKind kind = ObjectiveKind::SpanCorruption;
  std::map<std::string, double, std::less<>> numbers = {};  // of all objectives, by name
};

void add_objective_flags(CLI::App& command, ObjectiveFlags& flags);

// Refuses an option of an objective that was not chosen, unless it has its default.
ObjectiveOptions options_of(const ObjectiveFlags& flags);

// The flags, without dashes in front, that belong to objectives that were not chosen.
std::vector<std::string> flags_of_others(const ObjectiveFlags& flags);

}  // namespace convseq::cli
