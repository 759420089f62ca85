#include "convseq/cli/options/model_task.h"

#include "convseq/model/checkpoint.h"

namespace convseq::cli {

std::optional<Task> remembered_task(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kTaskFile;
  if (folder.empty() || !std::filesystem::exists(file)) return std::nullopt;
  return Task::from_json(JsonObject::from_file(file));
}

}  // namespace convseq::cli
