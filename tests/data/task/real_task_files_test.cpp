// Every task of configs/tasks against the real files, where they are.
#include <gtest/gtest.h>

#include <set>

#include "convseq/data/task/task.h"
#include "data/task/task_counts.h"
#include "real_data.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::ExpectedSplit;
using testing::kExpectedSplits;
using testing::real_data;

namespace {

SplitSummary summary_of(const std::string& task, const std::string& split) {
  return summarise_split(find_task(task), split, {.reader = {.data = real_data()}});
}

}  // namespace

class RealTaskFiles : public ::testing::TestWithParam<ExpectedSplit> {};
INSTANTIATE_TEST_SUITE_P(Tasks, RealTaskFiles, ::testing::ValuesIn(kExpectedSplits),
                         [](const auto& each) { return each.param.task + "_" + each.param.split; });

TEST_P(RealTaskFiles, HaveTheRowsAndLabelsThatAreExpected) {
  const ExpectedSplit& expected = GetParam();
  if (!fs::exists(real_data())) GTEST_SKIP() << real_data() << " is not there";
  const SplitSummary summary = summary_of(expected.task, expected.split);
  EXPECT_EQ(summary.totals.rows, expected.rows);
  EXPECT_EQ(summary.totals.dropped, expected.dropped);
  SplitSummary::Counts kinds = summary.categories.empty() ? summary.targets : summary.categories;
  EXPECT_EQ(kinds.size(), expected.kinds);
  kinds.resize(std::min(kinds.size(), expected.most_frequent.size()));
  EXPECT_EQ(kinds, expected.most_frequent);
}

TEST(RealTaskFiles, TheCoarseLabelsOfTrecAreThoseOfThePublishedTrainFile) {
  if (!fs::exists(real_data())) GTEST_SKIP() << real_data() << " is not there";
  std::map<std::string, int64_t> counts;
  for (const std::string split : {"train", "validation"}) {
    for (const auto& [label, count] : summary_of("trec6", split).targets) counts[label] += count;
  }
  EXPECT_EQ(counts, (std::map<std::string, int64_t>{{"ENTY", 1250},
                                                    {"HUM", 1223},
                                                    {"DESC", 1162},
                                                    {"NUM", 896},
                                                    {"LOC", 835},
                                                    {"ABBR", 86}}));
}

TEST(RealTaskFiles, SquadKeepsEveryAcceptableAnswer) {
  if (!fs::exists(real_data())) GTEST_SKIP() << real_data() << " is not there";
  TaskReader reader(find_task("squad"), "test", {.data = real_data()});
  int64_t with_one_answer = 0;
  for (TaskExample example; reader.next(example);) {
    const std::set<std::string> distinct(example.answers.begin(), example.answers.end());
    with_one_answer += distinct.size() == 1;
    for (const std::string& answer : distinct) {
      EXPECT_NE(example.source.text.find(answer), std::string::npos) << answer;
    }
  }
  EXPECT_EQ(with_one_answer, 1675);
}

}  // namespace convseq
