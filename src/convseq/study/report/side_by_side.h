#pragma once

#include <vector>

#include "convseq/study/result.h"

namespace convseq::report {

// How many other cells ran on the same kind of device while `cell` ran, on average, from the times
// that the results hold. A cell that left no result is not counted. NaN: times are not known.
double cells_beside(const CellResult& cell, const std::vector<CellResult>& all);

}  // namespace convseq::report
