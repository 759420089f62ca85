#include "convseq/data/objective/make_objective.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/data/objective/prefix_lm.h"
#include "convseq/data/objective/span_corruption.h"

namespace convseq {
namespace {

// Calls `use` with the class of an objective. This is the one place that knows them all.
template <class Use>
auto with_class(ObjectiveKind kind, Use&& use) {
  switch (kind) {
    case ObjectiveKind::SpanCorruption:
      return use.template operator()<SpanCorruption>();
    case ObjectiveKind::PrefixLm:
      return use.template operator()<PrefixLm>();
  }
  fail("objective {} is unknown", static_cast<int>(kind));
}

void check(const ObjectiveOptions& options) {
  const auto known = default_numbers(options.kind);
  for (const auto& given : options.numbers) {
    const auto found = std::find_if(known.begin(), known.end(), [&](const auto& each) {
      return each.option.name == given.first;
    });
    if (found == known.end()) {
      std::vector<std::string_view> names;
      for (const ObjectiveNumber& each : known) names.push_back(each.option.name);
      fail("objective {} has no option {}; it has: {}", name_of(options.kind), given.first,
           fmt::join(names, ", "));
    }
    const ObjectiveOption& option = found->option;
    require(given.second >= option.min && given.second <= option.max,
            "objective {}: {} is {}; allowed: {} to {}", name_of(options.kind), option.meaning,
            given.second, option.min, option.max);
  }
}

}  // namespace

ObjectiveOptions ObjectiveOptions::from_json(const JsonObject& json) {
  ObjectiveOptions options{.kind = json.get<ObjectiveKind>("objective"), .numbers = {}};
  for (const auto& [key, value] : json.json().items()) {
    if (key != "objective") options.numbers[key] = json.get<double>(key);
  }
  return options;
}

std::vector<ObjectiveNumber> default_numbers(ObjectiveKind kind) {
  return with_class(kind, []<class Class>() { return numbers_of(typename Class::Options{}); });
}

std::unique_ptr<const Objective> make_objective(const ObjectiveOptions& options,
                                                Vocabulary vocabulary) {
  check(options);
  return with_class(options.kind, [&]<class Class>() -> std::unique_ptr<const Objective> {
    typename Class::Options given;
    for (const auto& [option, value] : kObjectiveFields<typename Class::Options>) {
      const auto found = options.numbers.find(option.name);
      if (found != options.numbers.end()) given.*value = found->second;
    }
    return std::make_unique<Class>(vocabulary, given);
  });
}

}  // namespace convseq
