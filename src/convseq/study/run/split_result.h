#pragma once

#include "convseq/answer/evaluate_task.h"
#include "convseq/study/result.h"

namespace convseq {

// What a study keeps of the evaluation of a split. The outcomes are those of the last metric of the
// task that is a mean over examples: SQuAD's F1, else accuracy or exact match.
SplitResult split_result(const Task& task, const TaskEvaluation& evaluation, bool with_outcomes);

}  // namespace convseq
