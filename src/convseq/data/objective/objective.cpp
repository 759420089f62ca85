#include "convseq/data/objective/objective.h"

#include "convseq/base/error.h"

namespace convseq {

int64_t Objective::segment_length(ExampleLengths room) const {
  const auto fits = [&](int64_t length) {
    const ExampleLengths needed = lengths(length);
    return needed.source <= room.source && needed.target <= room.target;
  };
  // One token cannot be divided between a source and a target.
  require(fits(2), "a source of {} and a target of {} tokens have no room for any text",
          room.source, room.target);
  int64_t length = 2;
  while (fits(length + 1)) ++length;
  return length;
}

Json Objective::to_json() const {
  Json json = {{"objective", name_of(kind())}};
  for (const auto& [option, value] : numbers()) json[std::string(option.name)] = value;
  return json;
}

}  // namespace convseq
