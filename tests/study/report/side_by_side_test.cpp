#include "convseq/study/report/side_by_side.h"

#include <gtest/gtest.h>

#include <cmath>

namespace convseq::report {
namespace {

CellResult cell(const std::string& id, const std::string& finished, double seconds) {
  CellResult result{.id = id};
  result.finished = finished;
  result.total_seconds = seconds;
  result.device = "h200";
  return result;
}

}  // namespace

TEST(CellsBeside, AreCountedByTheShareOfTheTimeTheyRan) {
  std::vector<CellResult> cells = {
      cell("own", "2026-01-02T00:00:30Z", 100), cell("all of it", "2026-01-02T00:01:00Z", 200),
      cell("half", "2026-01-01T23:59:40Z", 500), cell("before", "2026-01-01T23:58:40Z", 40)};
  EXPECT_DOUBLE_EQ(cells_beside(cells[0], cells), 1.5);
  cells[1].device = "cpu";
  EXPECT_DOUBLE_EQ(cells_beside(cells[0], cells), 0.5);
}

TEST(CellsBeside, AreNotKnownWithoutTimes) {
  const CellResult unknown = cell("own", "", 100);
  EXPECT_TRUE(std::isnan(cells_beside(unknown, {unknown})));
}

}  // namespace convseq::report
