#pragma once

#include "convseq/answer/task_answers.h"
#include "convseq/base/file/output_file.h"

namespace convseq {

// One JSON object per line: source, prediction, answers, whether it is right, and the category if
// there is one. The caller commits the file.
void write_predictions(OutputFile& file, const TaskSplit& split,
                       const std::vector<Outcome>& outcomes);

}  // namespace convseq
