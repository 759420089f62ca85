#include "convseq/study/run/score_table.h"

#include <gtest/gtest.h>

namespace convseq {
namespace {

CellResult run(Start start, double score, bool chosen) {
  CellResult result{.id = "a", .parts = {"main"}, .model = "light", .start = start, .task = "sst2"};
  result.chosen = chosen;
  result.splits["test"] = {.examples = 10, .metrics = {{"accuracy", score}}};
  return result;
}

TEST(ScoreTable, AveragesTheRunsAtTheChosenLearningRate) {
  std::vector<CellResult> results = {run(Start::Scratch, 0.5, true), run(Start::Scratch, 0.7, true),
                                     run(Start::Scratch, 0.1, false),
                                     run(Start::Pretrained, 0.75, true)};
  results[0].splits["test"].collapsed = true;
  const std::string table = score_table(results);
  EXPECT_NE(table.find("0.600 (2, 1 collapsed)"), std::string::npos) << table;
  EXPECT_NE(table.find("0.750 (1)"), std::string::npos) << table;
  EXPECT_NE(table.find("–"), std::string::npos) << table;  // nothing pre-trained on its own text
}

}  // namespace
}  // namespace convseq
