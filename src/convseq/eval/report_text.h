#pragma once

#include <string>

#include "convseq/data/task/row_totals.h"
#include "convseq/eval/report.h"

namespace convseq {

// A report as text: `title` and a line per score with its interval; for a task with labels also the
// scores per class, the confusion matrix (for many classes only the largest confusions) and the
// share of the most frequent label; finally the numbers of skipped and cut rows.
std::string describe(const std::string& title, const Report& report, const RowTotals& totals = {});

}  // namespace convseq
