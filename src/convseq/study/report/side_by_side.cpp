#include "convseq/study/report/side_by_side.h"

#include <algorithm>
#include <ctime>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>

namespace convseq::report {
namespace {

struct Span {
  double start, end;  // seconds

  double shared_with(const Span& other) const {
    return std::max(0.0, std::min(end, other.end) - std::max(start, other.start));
  }
};

std::optional<Span> span_of(const CellResult& cell) {
  std::tm time{};
  std::istringstream text(cell.finished);
  text >> std::get_time(&time, "%Y-%m-%dT%H:%M:%SZ");
  if (text.fail() || cell.total_seconds <= 0) return {};
  const auto end = static_cast<double>(timegm(&time));
  return Span{end - cell.total_seconds, end};
}

}  // namespace

double cells_beside(const CellResult& cell, const std::vector<CellResult>& all) {
  const auto own = span_of(cell);
  if (!own) return std::numeric_limits<double>::quiet_NaN();
  double shared = 0;
  for (const CellResult& other : all) {
    if (other.id == cell.id || other.device != cell.device) continue;
    if (const auto span = span_of(other)) shared += own->shared_with(*span);
  }
  return shared / (own->end - own->start);
}

}  // namespace convseq::report
