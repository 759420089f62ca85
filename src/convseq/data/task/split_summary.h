#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/task/task_reader.h"
#include "convseq/text/tokenizer.h"

namespace convseq {

struct LengthSummary {
  double mean = 0;
  int64_t median = 0, percentile95 = 0, longest = 0;
};

// Statistics of a split, for a look at the data before training.
struct SplitSummary {
  using Counts = std::vector<std::pair<std::string, int64_t>>;  // the most frequent first

  std::string split;
  RowTotals totals;   // cut rows are counted only with a tokenizer
  Counts targets;     // empty for free text
  Counts categories;  // empty if the task has no categories
  std::string unit;   // of lengths: "tokens" with a tokenizer, "words" without
  LengthSummary source, target;
  std::vector<TaskExample> examples;  // the first few

  Json to_json() const;
};

struct SplitSummaryOptions {
  TaskReaderOptions reader;
  const Tokenizer* tokenizer = nullptr;
  size_t examples = 3;
};

SplitSummary summarise_split(const Task& task, const std::string& split,
                             const SplitSummaryOptions& options);

}  // namespace convseq
