#pragma once

#include <cstdint>
#include <string>

#include "convseq/base/file/json_file.h"

namespace convseq {

// How many rows of labelled data were used, and what became of the others: one form for every
// command that reads them.
struct RowTotals {
  int64_t rows = 0;         // used
  int64_t skipped = 0;      // bad ones, where bad lines are skipped
  int64_t dropped = 0;      // left out because the task asks for it
  int64_t sources_cut = 0;  // longer than max_source_tokens
  int64_t targets_cut = 0;  // longer than max_target_tokens

  RowTotals& operator+=(const RowTotals& other);
  bool operator==(const RowTotals&) const = default;

  Json to_json() const;
  // "3 bad rows skipped, 12 sources cut (of 800 rows)"; empty where there is nothing but rows.
  std::string describe() const;
};

}  // namespace convseq
