#include <gtest/gtest.h>

#include <set>

#include "convseq/data/task/task.h"
#include "data/task/task_counts.h"

namespace convseq {
using testing::ExpectedSplit;
using testing::kExpectedSplits;

TEST(TaskFiles, EverySplitOfEveryTaskIsInTheTable) {
  std::set<std::pair<std::string, std::string>> expected, found;
  for (const ExpectedSplit& each : kExpectedSplits) expected.emplace(each.task, each.split);
  for (const std::string& name : task_names()) {
    const Task task = find_task(name);
    EXPECT_EQ(task.name, name);
    for (const auto& [split, files] : task.files) found.emplace(name, split);
  }
  EXPECT_EQ(found, expected);
}

TEST(TaskFiles, LabelsFitIntoTheTargetEvenWhereATokenizerSpellsThem) {
  for (const std::string& name : task_names()) {
    const Task task = find_task(name);
    for (const std::string& label : task.labels) {
      EXPECT_LE(std::ssize(label) + 2, task.max_target_tokens) << name << ": " << label;
    }
  }
}

}  // namespace convseq
