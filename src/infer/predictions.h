#pragma once

#include <filesystem>

#include "infer/task_answers.h"

namespace convseq {

// One JSON object a line: source, prediction, answers, whether it is right, and the category where
// there is one.
void write_predictions(const std::filesystem::path& path, const TaskSplit& split,
                       const std::vector<Outcome>& outcomes);

}  // namespace convseq
