#include "convseq/cli/options/model_task.h"

#include "convseq/spec/model_files.h"

namespace convseq::cli {

std::vector<std::filesystem::path> files_of_model(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  return files;
}

std::optional<Task> remembered_task(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kTaskFile;
  if (folder.empty() || !std::filesystem::exists(file)) return std::nullopt;
  return Task::from_json(JsonObject::from_file(file));
}

Task task_for_model(const TaskFlags& flags, const std::optional<Task>& remembered) {
  Task task = task_of(flags, remembered);
  if (!remembered || flags.source.empty() || !task.labels.empty()) return task;
  task.labels = remembered->labels;
  task.label_kind = remembered->label_kind;
  task.label_separator = remembered->label_separator;
  task.positive_label = remembered->positive_label;
  if (flags.metrics.empty()) task.metrics = remembered->metrics;
  task.check(task.name);
  return task;
}

std::string default_split(const Task& task) {
  for (const char* name : {"test", "validation"}) {
    if (task.has_split(name)) return name;
  }
  return task.files.front().first;
}

}  // namespace convseq::cli
