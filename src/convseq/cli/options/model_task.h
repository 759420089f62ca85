#pragma once

#include <filesystem>
#include <optional>

#include "convseq/cli/options/task_flags.h"

namespace convseq::cli {

// The files of a model folder, which a command that reads the model must not overwrite.
std::vector<std::filesystem::path> files_of_model(const std::filesystem::path& folder);

// What a fine-tuned model folder remembers of its task, in task.json: templates, labels, limits and
// metrics. Nothing for a model that was never fine-tuned, or where `folder` is empty.
std::optional<Task> remembered_task(const std::filesystem::path& folder);

// The task that the flags name (see task_of()), for a model that answers it: other templates leave
// the model's labels, and what goes with them, as they are.
Task task_for_model(const TaskFlags& flags, const std::optional<Task>& remembered);

// The split that a model is evaluated on: test, or else validation, or else the first one.
std::string default_split(const Task& task);

}  // namespace convseq::cli
