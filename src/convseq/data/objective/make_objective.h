#pragma once

#include <map>
#include <memory>

#include "convseq/data/objective/objective.h"
#include "convseq/text/sentinels.h"

namespace convseq {

// The choice of an objective and of its options.
struct ObjectiveOptions {
  ObjectiveKind kind = ObjectiveKind::SpanCorruption;
  std::map<std::string, double, std::less<>> numbers;  // by name; a missing one has its default

  static ObjectiveOptions from_json(const JsonObject& json);  // as Objective::to_json() writes it
};

std::vector<ObjectiveNumber> default_numbers(ObjectiveKind kind);

// Refuses unknown options and values out of range by name.
std::unique_ptr<const Objective> make_objective(const ObjectiveOptions& options,
                                                Vocabulary vocabulary);

}  // namespace convseq
