#include "convseq/data/task/row_totals.h"

#include <gtest/gtest.h>

namespace convseq {

TEST(RowTotals, SaysNothingWhereEveryRowWasUsedWhole) {
  EXPECT_EQ(RowTotals{.rows = 7}.describe(), "");
}

TEST(RowTotals, NamesWhatWasSkippedDroppedAndCut) {
  RowTotals totals{.rows = 1, .skipped = 1, .sources_cut = 2};
  totals += {.rows = 1, .dropped = 3, .sources_cut = 1, .targets_cut = 1};
  EXPECT_EQ(totals.describe(),
            "1 bad row skipped, 3 rows dropped by the task, 3 sources cut, 1 target cut; "
            "2 rows used");
  EXPECT_EQ(totals.to_json().dump(),
            R"({"rows":2,"skipped":1,"dropped":3,"sources_cut":3,"targets_cut":1})");
}

}  // namespace convseq
