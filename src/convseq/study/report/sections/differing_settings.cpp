#include "convseq/study/report/sections/differing_settings.h"

#include <fmt/format.h>

#include <set>

namespace convseq::report {
namespace {

std::string value_text(const Json& value) {
  if (value.is_null()) return kMissing;
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_differences(std::vector<std::string>& found, const std::string& stage, const Json& first,
                     const Json& second) {
  for (const std::string& each : json_differences(first, second)) {
    found.push_back(fmt::format("{} {}", stage, each));
  }
}

}  // namespace

Json settings_in(const CellResult* result) {
  if (result == nullptr || !result->inputs.is_object()) return Json::object();
  return result->inputs.value("settings", Json::object());
}

std::vector<std::string> json_differences(const Json& first, const Json& second) {
  std::set<std::string> keys;
  for (const Json* object : {&first, &second}) {
    for (const auto& [key, value] : object->items()) keys.insert(key);
  }
  std::vector<std::string> found;
  const auto value_in = [](const Json& object, const std::string& key) {
    return object.contains(key) ? object[key] : Json(nullptr);
  };
  for (const std::string& key : keys) {
    const Json a = value_in(first, key), b = value_in(second, key);
    if (a.is_object() && b.is_object()) {
      for (const std::string& inner : json_differences(a, b)) {
        found.push_back(fmt::format("{}.{}", key, inner));
      }
    } else if (value_text(a) != value_text(b)) {
      found.push_back(fmt::format("{} ({}, {})", key, value_text(a), value_text(b)));
    }
  }
  return found;
}

std::vector<std::string> differing_settings(const Context& context, const System& first,
                                            const System& second) {
  std::vector<std::string> found;
  add_differences(found, "pre-training", settings_in(context.pretraining_of(first)),
                  settings_in(context.pretraining_of(second)));
  Json own = settings_in(first.runs.front()), other = settings_in(second.runs.front());
  for (Json* settings : {&own, &other}) settings->erase("lr");
  add_differences(found, "fine-tuning", own, other);
  return found;
}

}  // namespace convseq::report
