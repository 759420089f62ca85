#pragma once

#include <string>

#include "convseq/data/task/row_totals.h"
#include "convseq/eval/report.h"

namespace convseq {

// A report for a person: `title` and a line per score with its interval; of a task with labels also
// each class and the confusion matrix (of many classes: the largest confusions alone), and the
// share of the most frequent label; at last what was skipped or cut.
std::string describe(const std::string& title, const Report& report, const RowTotals& totals = {});

}  // namespace convseq
