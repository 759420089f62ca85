#pragma once

#include "convseq/study/report/report_input.h"

namespace convseq::report {

// Systems are told apart by their names, which stay the same when a preset or a study file changes.

// Takes from `input` the results of a model's own size that were computed with another model than
// the study has under that name. One line for each kind: how many, and what differs.
std::vector<std::string> leave_out_other_models(ReportInput& input);

// An Error if two cells are the same run by their names, so that a seed would count twice.
void refuse_repeated_runs(const std::vector<CellResult>& results);

}  // namespace convseq::report
