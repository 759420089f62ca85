#pragma once

#include <string>

#include "eval/report.h"

namespace convseq::cli {

// A split's scores with their intervals, one line each, and what else is worth saying.
std::string describe(const std::string& split, const Report& report);

}  // namespace convseq::cli
