#include "convseq/cli/options/model_task.h"

#include "convseq/spec/model_files.h"

namespace convseq::cli {

std::optional<Task> remembered_task(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kTaskFile;
  if (folder.empty() || !std::filesystem::exists(file)) return std::nullopt;
  return Task::from_json(JsonObject::from_file(file));
}

std::string default_split(const Task& task) {
  for (const char* name : {"test", "validation"}) {
    if (task.has_split(name)) return name;
  }
  return task.files.front().first;
}

}  // namespace convseq::cli
