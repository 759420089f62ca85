#pragma once

#include <filesystem>
#include <optional>

#include "convseq/data/task/task.h"

namespace convseq::cli {

// What a fine-tuned model folder remembers of its task, in task.json: templates, labels, limits and
// metrics. Nothing for a model that was never fine-tuned, or where `folder` is empty.
std::optional<Task> remembered_task(const std::filesystem::path& folder);

// The split that a model is evaluated on: test, or else validation, or else the first one.
std::string default_split(const Task& task);

}  // namespace convseq::cli
