#pragma once

#include "convseq/base/file/output_file.h"
#include "convseq/infer/task_answers.h"

namespace convseq {

// One JSON object a line: source, prediction, answers, whether it is right, and the category where
// there is one. The caller commits.
void write_predictions(OutputFile& file, const TaskSplit& split,
                       const std::vector<Outcome>& outcomes);

}  // namespace convseq
