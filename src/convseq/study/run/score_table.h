#pragma once

#include <string>
#include <vector>

#include "convseq/study/result.h"

namespace convseq {

// The mean test scores of the runs at the chosen learning rates, by part, task and model, one
// column per start: a first look; the report has intervals.
std::string score_table(const std::vector<CellResult>& results);

}  // namespace convseq
