#pragma once

#include <cstdint>
#include <string>

#include "convseq/base/file/json_file.h"

namespace convseq {

// The numbers of rows of labelled data that were used, skipped, dropped and cut, for the report of
// every command that reads them.
struct RowTotals {
  int64_t rows = 0;         // used
  int64_t skipped = 0;      // bad rows, if bad lines are skipped
  int64_t dropped = 0;      // removed by the task's `drop`
  int64_t sources_cut = 0;  // longer than max_source_tokens
  int64_t targets_cut = 0;  // longer than max_target_tokens

  RowTotals& operator+=(const RowTotals& other);
  bool operator==(const RowTotals&) const = default;

  Json to_json() const;
  // "3 bad rows skipped, 12 sources cut (of 800 rows)"; empty if all rows were used whole.
  std::string describe() const;
};

}  // namespace convseq
