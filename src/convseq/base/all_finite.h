#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace convseq {

inline bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double each) { return std::isfinite(each); });
}

}  // namespace convseq
