#include "convseq/base/file/json_file.h"
#include "convseq/data/task/task.h"
#include "convseq/text/trim.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

TextTemplate template_from(const JsonObject& json, const std::string& key) {
  const auto pattern = json.get<std::string>(key);
  try {
    return TextTemplate(pattern);
  } catch (const Error& error) {
    throw error.at(key).at(json.origin());
  }
}

}  // namespace

Task Task::from_json(const JsonObject& json) {
  json.allow_only({"name", "description", "files", "columns", "source", "target", "answers",
                   "category", "labels", "label_map", "positive_label", "metrics", "drop",
                   "label_kind", "label_separator", "label_columns", "max_source_tokens",
                   "max_target_tokens", "cut"});
  Task task;
  task.name = json.get<std::string>("name");
  task.description = json.get_or<std::string>("description", "");
  const JsonObject files = json.inner("files");
  for (const std::string& split : files.keys()) {
    const std::vector<std::string> names =
        files.json().at(split).is_string() ? std::vector<std::string>{files.get<std::string>(split)}
                                           : files.get<std::vector<std::string>>(split);
    task.files.emplace_back(split, std::vector<fs::path>(names.begin(), names.end()));
  }
  task.columns = json.get_or("columns", task.columns);
  task.source = template_from(json, "source");
  if (json.has("target")) task.target = template_from(json, "target");
  task.answers = json.get_or("answers", task.answers);
  task.category = json.get_or("category", task.category);
  task.labels = json.get_or("labels", task.labels);
  for (std::string& label : task.labels) label = trimmed(label);
  const JsonObject label_map = json.inner("label_map");
  for (const std::string& label : label_map.keys()) {
    task.label_map[trimmed(label)] = trimmed(label_map.get<std::string>(label));
  }
  task.positive_label = trimmed(json.get_or("positive_label", task.positive_label));
  task.label_separator = json.get_or("label_separator", task.label_separator);
  task.label_columns = json.get_or("label_columns", task.label_columns);
  const bool sets = !task.label_separator.empty() || !task.label_columns.empty();
  if (json.get_or("label_kind", sets ? LabelKind::Multi : LabelKind::Single) == LabelKind::Multi) {
    task.use_label_sets();
  }
  task.metrics = json.get_or("metrics", task.metrics);
  const JsonObject drop = json.inner("drop");
  for (const std::string& field : drop.keys()) {
    task.drop[field] = drop.get<std::vector<std::string>>(field);
  }
  task.max_source_tokens = json.get_or("max_source_tokens", task.max_source_tokens);
  task.max_target_tokens = json.get_or("max_target_tokens", task.max_target_tokens);
  task.cut = json.get_or("cut", task.cut);
  task.check(json.origin());
  return task;
}

Json Task::to_json() const {
  Json json = {{"name", name}, {"description", description}};
  const auto add = [&](const char* key, const auto& value) {
    if (!value.empty()) json[key] = value;
  };
  add("columns", columns);
  add("source", source.pattern());
  add("target", target.pattern());
  add("answers", answers);
  add("category", category);
  add("labels", labels);
  add("label_map", label_map);
  add("positive_label", positive_label);
  if (label_kind != LabelKind::Single) json["label_kind"] = name_of(label_kind);
  add("label_separator", label_separator);
  add("label_columns", label_columns);
  json["metrics"] = Json::array();
  for (const Metric metric : metrics) json["metrics"].push_back(name_of(metric));
  add("drop", drop);
  json["max_source_tokens"] = max_source_tokens;
  json["max_target_tokens"] = max_target_tokens;
  add("cut", cut);
  return json;
}

}  // namespace convseq
