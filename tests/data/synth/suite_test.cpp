#include "convseq/data/synth/suite.h"

#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "convseq/data/task/task_reader.h"
#include "temp_folder.h"

namespace convseq::synth {
using convseq::testing::TempFolder;

namespace {
const SuiteOptions kSmall{.sizes = {.train = 40, .validation = 8, .test = 16}};
}  // namespace

TEST(Suite, WritesTaskFilesThatTheTaskReaderReads) {
  TempFolder folder;
  write_suite(folder / "tasks", kSmall);
  for (const auto& family : make_families(kSmall)) {
    const TaskData data = draw_task(*family, {.sizes = kSmall.sizes, .seed = kSmall.seed});
    const Task task = find_task((folder / "tasks" / data.description.name / "task.json").string());
    EXPECT_EQ(task.labels, data.description.labels);
    for (const auto& [split, examples] : data.splits) {
      TaskReader reader(task, std::string(name_of(split)));
      TaskExample read;
      for (const Example& example : examples) {
        ASSERT_TRUE(reader.next(read));
        EXPECT_EQ(read.target, example.target);
        EXPECT_NE(read.source.text.find(example.inputs[0].text), std::string::npos);
        EXPECT_NE(read.source.text.find(example.inputs.back().text), std::string::npos);
        EXPECT_LT(static_cast<int64_t>(read.source.text.size()), task.max_source_tokens);
        EXPECT_LT(static_cast<int64_t>(read.target.size()), task.max_target_tokens);
      }
      EXPECT_FALSE(reader.next(read));
    }
  }
}

TEST(Suite, RecordsTheBaselinesBesideTheTasks) {
  TempFolder folder;
  const auto baselines = write_suite(folder / "tasks", kSmall);
  const Json recorded = read_json_file(folder / "tasks" / "baselines.json");
  ASSERT_EQ(recorded.size(), baselines.size());
  for (size_t i = 0; i < baselines.size(); ++i) {
    EXPECT_EQ(recorded[i], baselines[i].to_json());
    EXPECT_EQ(recorded[i]["oracle"], 1.0);
  }
  const std::string table = table_of(baselines);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'),
            static_cast<ptrdiff_t>(baselines.size()) + 1);
}

TEST(Suite, MakesOnlyTheFamiliesAskedFor) {
  SuiteOptions options = kSmall;
  options.families = {Family::Pair};
  options.comparisons = {3};
  const auto families = make_families(options);
  ASSERT_EQ(families.size(), 1u);
  EXPECT_EQ(families[0]->describe().name, "pair_3");
}

}  // namespace convseq::synth
