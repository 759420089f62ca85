#include "convseq/data/task/task.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "convseq/base/contains.h"
#include "convseq/base/file/json_file.h"
#include "convseq/data/embedded_tasks.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

void check_label_sets(const Task& task, const std::string& origin) {
  require(task.answers.empty(), "{}: answers is of tasks with one label; label_kind is multi",
          origin);
  require(task.label_columns.empty() || task.target.pattern().empty(),
          "{}: one of target and label_columns is needed, and not both", origin);
  const auto& fields = task.target.fields();
  require(!task.label_columns.empty() ||
              (fields.size() == 1 && task.target.pattern() == "{" + fields.front() + "}"),
          "{}: target is \"{}\"; of a multi-label task it names the one field with its labels, as "
          "{{labels}} does",
          origin, task.target.pattern());
}

std::string brief_list(const std::vector<std::string>& labels) {
  constexpr size_t kShown = 12;
  const auto end = labels.begin() + static_cast<std::ptrdiff_t>(std::min(labels.size(), kShown));
  std::string text = fmt::format("{}", fmt::join(labels.begin(), end, ", "));
  if (labels.size() > kShown) text += fmt::format(", … ({} in all)", labels.size());
  return text;
}

}  // namespace

void Task::use_label_sets() {
  label_kind = LabelKind::Multi;
  metrics = {Metric::MicroF1, Metric::MacroF1};
  if (!labels.empty()) return;
  for (const std::string& column : label_columns) labels.push_back(label_of(column));
}

std::string Task::label_of(const std::string& text) const {
  const auto found = label_map.find(text);
  return found == label_map.end() ? text : found->second;
}

void Task::require_label(const std::string& label) const {
  require(labels.empty() || contains(labels, label),
          "the label \"{}\" is not in the task's list: {}", brief_text(label), brief_list(labels));
}

void Task::check(const std::string& origin) const {
  require(!source.fields().empty(), "{}: source \"{}\" puts in no field; write {{name}} for one",
          origin, source.pattern());
  if (label_columns.empty()) {
    require(target.pattern().empty() != answers.empty(),
            "{}: one of target and answers is needed, and not both", origin);
  }
  if (label_kind == LabelKind::Multi) check_label_sets(*this, origin);
  require(label_kind == LabelKind::Multi || (label_columns.empty() && label_separator.empty()),
          "{}: {} is of multi-label tasks; label_kind is {}", origin,
          label_columns.empty() ? "label_separator" : "label_columns", name_of(label_kind));
  require(cut.empty() || contains(source.fields(), cut),
          "{}: cut is {}, which is not a field of source; allowed: {}", origin, cut,
          fmt::join(source.fields(), ", "));
  for (auto label = labels.begin(); label != labels.end(); ++label) {
    require(std::find(labels.begin(), label, *label) == label, "{}: labels names {} twice", origin,
            *label);
  }
  for (auto metric = metrics.begin(); metric != metrics.end(); ++metric) {
    require(std::find(metrics.begin(), metric, *metric) == metric, "{}: metrics names {} twice",
            origin, name_of(*metric));
  }
  require(!contains(labels, ""), "{}: labels names an empty one", origin);
  for (const auto& [from, to] : label_map) {
    const bool is_no_label = label_kind == LabelKind::Multi && to.empty();
    require(labels.empty() || contains(labels, to) || is_no_label,
            "{}: label_map: {} becomes {}, which is not a label", origin, from, to);
  }
  require(positive_label.empty() || contains(labels, positive_label),
          "{}: positive_label is {}, which is not a label; allowed: {}", origin, positive_label,
          fmt::join(labels, ", "));
  require(!contains(metrics, Metric::F1) || !positive_label.empty(),
          "{}: the metric f1 needs a positive_label; macro_f1 does not", origin);
  constexpr int64_t kShortest = 2;  // one piece and the EOS
  constexpr int64_t kLongest = int64_t{1} << 20;
  const auto check_length = [&](const char* key, int64_t tokens) {
    require(tokens >= kShortest && tokens <= kLongest, "{}: {} is {}; allowed: {} to {}", origin,
            key, tokens, kShortest, kLongest);
  };
  check_length("max_source_tokens", max_source_tokens);
  check_length("max_target_tokens", max_target_tokens);
}

bool Task::has_split(const std::string& split) const {
  return std::any_of(files.begin(), files.end(),
                     [&](const auto& each) { return each.first == split; });
}

const std::vector<fs::path>& Task::files_of(const std::string& split) const {
  std::vector<std::string_view> names;
  for (const auto& [each, paths] : files) {
    if (each == split) return paths;
    names.push_back(each);
  }
  fail("the task {} has no split {}; it has: {}", name, split, fmt::join(names, ", "));
}

std::vector<std::string> Task::needed_fields() const {
  std::vector<std::string> fields = source.fields();
  fields.insert(fields.end(), target.fields().begin(), target.fields().end());
  if (!answers.empty()) fields.push_back(answers);
  fields.insert(fields.end(), label_columns.begin(), label_columns.end());
  if (!category.empty()) fields.push_back(category);
  for (const auto& [field, values] : drop) fields.push_back(field);
  return fields;
}

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const auto& [name, text] : kEmbeddedTasks) names.emplace_back(name);
  return names;
}

Task find_task(const std::string& name_or_path) {
  const auto with_files = [](const JsonObject& json) {
    Task task = Task::from_json(json);
    require(!task.files.empty(), "{}: files names no split", json.origin());
    return task;
  };
  for (const auto& [name, text] : kEmbeddedTasks) {
    if (name == name_or_path) {
      return with_files({parse_json(text, std::string(name)), name_or_path});
    }
  }
  require(fs::exists(name_or_path),
          "{}: neither a task file nor a known task, nor a table (.jsonl, .csv, .tsv, .txt, .ft); "
          "known: {}",
          name_or_path, fmt::join(task_names(), ", "));
  Task task = with_files(JsonObject::from_file(name_or_path));
  task.folder = fs::path(name_or_path).parent_path();
  return task;
}

Task ad_hoc_task(const std::string& source, const std::string& target, SplitFiles files) {
  Task task;
  task.name = files.empty() ? "" : files.front().second.front().filename().string();
  task.files = std::move(files);
  task.source = TextTemplate(source);
  task.target = TextTemplate(target);
  return task;
}

}  // namespace convseq
