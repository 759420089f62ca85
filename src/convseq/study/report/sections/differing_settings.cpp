#include "convseq/study/report/sections/differing_settings.h"

#include <fmt/format.h>

#include <set>

namespace convseq::report {
namespace {

Json settings_in(const CellResult* result) {
  if (result == nullptr || !result->inputs.is_object()) return Json::object();
  return result->inputs.value("settings", Json::object());
}

std::string value_text(const Json& settings, const std::string& key) {
  if (!settings.contains(key)) return kMissing;
  const Json& value = settings[key];
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_differences(std::vector<std::string>& found, const std::string& stage, const Json& first,
                     const Json& second) {
  std::set<std::string> keys;
  for (const Json* settings : {&first, &second}) {
    for (const auto& [key, value] : settings->items()) keys.insert(key);
  }
  for (const std::string& key : keys) {
    const std::string a = value_text(first, key), b = value_text(second, key);
    if (a != b) found.push_back(fmt::format("{} {} ({}, {})", stage, key, a, b));
  }
}

}  // namespace

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
