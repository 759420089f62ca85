#include "convseq/data/task/row.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/base/error.h"

namespace convseq {

void Row::add(std::string name, std::string text) {
  std::vector<std::string> items{text};
  fields_.push_back({std::move(name), std::move(text), std::move(items)});
}

void Row::add(std::string name, std::vector<std::string> items) {
  std::string joined = fmt::format("{}", fmt::join(items, ", "));
  fields_.push_back({std::move(name), std::move(joined), std::move(items)});
}

const Row::Field* Row::find(std::string_view name) const {
  const auto found = std::ranges::find(fields_, name, &Field::name);
  return found == fields_.end() ? nullptr : &*found;
}

const Row::Field& Row::field(std::string_view name) const {
  if (const Field* found = find(name)) return *found;
  std::vector<std::string_view> names;
  for (const Field& field : fields_) names.push_back(field.name);
  fail("has no column {}; it has: {}", name, fmt::join(names, ", "));
}

}  // namespace convseq
