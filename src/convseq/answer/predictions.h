#pragma once

#include "convseq/answer/evaluate_task.h"
#include "convseq/base/file/output_file.h"

namespace convseq {

// One JSON object per line: source, prediction, answers, whether it is right, the category if there
// is one, and the probability of each label if the model gives them. Of a multi-label task,
// prediction and answers are lists of labels. The caller commits the file.
void write_predictions(OutputFile& file, const TaskSplit& split, const TaskEvaluation& evaluation);

}  // namespace convseq
