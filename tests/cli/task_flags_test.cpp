#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
using testing::run_convseq;
using testing::TempFolder;

namespace {

const std::string kTemplates = " --source '{text}' --target '{stars}'";

Json report_of(const std::string& flags) {
  const auto outcome = run_convseq("task " + flags + " --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
  // One line, beside what went to standard error.
  const size_t begin = outcome.output.find("{\"task\"");
  return parse_json(outcome.output.substr(begin, outcome.output.find('\n', begin) - begin),
                    "report");
}

void expect_refused(const std::string& flags, const std::string& message) {
  const auto outcome = run_convseq("task " + flags);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.output.find("convseq: " + message + "\n"), std::string::npos) << outcome.output;
}

}  // namespace

TEST(TaskFlags, ATableWithoutTemplatesIsToldItsColumns) {
  TempFolder folder;
  const std::string table = folder.file("r.csv", "text,stars\nfine,5\n").string();
  expect_refused(table, table +
                            ": a table needs templates; its columns are text, stars: use "
                            "--source '{text}' --target '{stars}'");
  expect_refused("/nope/x.csv" + kTemplates, "/nope/x.csv: no such file");
  expect_refused("", "no data: name a task, or files with --train, --validation or --test");
}

TEST(TaskFlags, SplitsMayBeFilesOfTheirOwn) {
  TempFolder folder;
  const std::string train = folder.file("a.CSV", "text;stars\nfine;5\npoor;1\n").string();
  const std::string test = folder.file("b.csv", "text,stars\nso so,1\n").string();
  const Json report = report_of("--train " + train + " " + train + " --test " + test + kTemplates);
  ASSERT_EQ(report["splits"].size(), 2u);
  EXPECT_EQ(report["splits"][0]["split"], "train");
  EXPECT_EQ(report["splits"][0]["rows"], 4);
  EXPECT_EQ(report["splits"][1]["split"], "test");
  EXPECT_EQ(report["splits"][1]["rows"], 1);
}

TEST(TaskFlags, FastTextFilesNeedNoTemplates) {
  TempFolder folder;
  const std::string train =
      folder.file("a.txt", "__label__good A fine film.\n__label__bad Dull.\n").string();
  const Json report = report_of("--train " + train);
  EXPECT_EQ(report["splits"][0]["targets"], (Json{{"bad", 1}, {"good", 1}}));
  EXPECT_EQ(report["splits"][0]["examples"][0]["source"], "A fine film.");
}

TEST(TaskFlags, ATasksTemplatesServeOtherFiles) {
  TempFolder folder;
  const std::string mine =
      folder.file("mine.jsonl", "{\"text\": \"fine\", \"label\": \"positive\"}\n").string();
  const Json report = report_of("--task sst2 --test " + mine);
  EXPECT_EQ(report["task"], "sst2");
  EXPECT_EQ(report["splits"][0]["examples"][0]["source"], "sst2 sentence: fine");
}

TEST(TaskFlags, LabelsAreTrimmedAndMissingOnesAreBadRows) {
  TempFolder folder;
  const std::string table = folder.file("r.csv", "text,stars\nx,good\ny, bad\nz,\n").string();
  expect_refused(table + kTemplates, table + ":4: has no target: stars is empty");
  const Json report = report_of(table + kTemplates + " --labels 'good, bad' --on-bad-line skip");
  EXPECT_EQ(report["splits"][0]["rows"], 2);
  EXPECT_EQ(report["splits"][0]["skipped"], 1);
}

TEST(TaskFlags, MetricsAreCheckedByTheNamesOfTheFlags) {
  TempFolder folder;
  const std::string table = folder.file("r.csv", "text,stars\nx,1\n").string() + kTemplates;
  report_of(table + " --metrics accuracy,macro_f1");
  report_of(table + " --labels 1,5 --metrics f1 --positive-label 5");
  expect_refused(
      table + " --metrics f1",
      "the metric f1 needs a positive class: name it with --positive-label, or use macro_f1");
  expect_refused(table + " --labels 1,5 --positive-label 2",
                 "--positive-label 2 is not one of the labels: 1, 5");
  expect_refused("sst2 --labels a,b", "--labels: the task sst2 has its own labels");
}

TEST(TaskFlags, TheDataFolderIsTheUsersOwn) {
  if (std::getenv("CONVSEQ_DATA") != nullptr) return;
  expect_refused("sst2",
                 "the task sst2 has no file sst2/train.jsonl.zst, nor data/sst2/train.jsonl.zst; "
                 "--data or CONVSEQ_DATA names the folder that holds it");
}

}  // namespace convseq
