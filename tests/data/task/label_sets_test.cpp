#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "convseq/data/task/split_summary.h"
#include "convseq/data/task/task_labels.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;
using Labels = std::vector<std::string>;

namespace {

std::vector<Labels> labels_of(const Task& task) {
  TaskReader reader(task, "train");
  std::vector<Labels> labels;
  for (TaskExample example; reader.next(example);) labels.push_back(example.labels);
  return labels;
}

Task task_from(const TempFolder& folder, const std::string& file, const std::string& keys) {
  const std::string json =
      R"({"name": "t", "files": {"train": ")" + file + R"("}, "source": "{text}", )" + keys + "}";
  return find_task(folder.file("task.json", json));
}

}  // namespace

TEST(LabelSets, AreTheItemsOfAListInTheOrderOfTheTask) {
  TempFolder folder;
  folder.file("a.jsonl",
              "{\"text\": \"x\", \"kinds\": [\"rude\", \"toxic\", \"rude\"]}\n"
              "{\"text\": \"x\", \"kinds\": []}\n{\"text\": \"x\", \"kinds\": null}\n"
              "{\"text\": \"x\", \"kinds\": \"toxic\"}\n");
  const Task task =
      task_from(folder, "a.jsonl",
                R"("target": "{kinds}", "label_kind": "multi", "labels": ["toxic", "rude"])");
  EXPECT_EQ(labels_of(task), (std::vector<Labels>{{"toxic", "rude"}, {}, {}, {"toxic"}}));
  EXPECT_EQ(task.metrics, (std::vector{Metric::MicroF1, Metric::MacroF1}));
}

TEST(LabelSets, AreSplitAtTheSeparator) {
  TempFolder folder;
  folder.file("a.csv", "text,kinds\nx,b | a\nx,\nx,none\nx,a|\n");
  const Task task = task_from(folder, "a.csv",
                              R"("target": "{kinds}", "label_separator": "|", "labels": ["a", "b"],
                                 "label_map": {"none": ""})");
  EXPECT_EQ(labels_of(task), (std::vector<Labels>{{"a", "b"}, {}, {}, {"a"}}));
}

TEST(LabelSets, AreTheColumnsThatHoldOne) {
  TempFolder folder;
  folder.file("a.csv", "text,toxic,threat\nx,1,0\nx,0,0\nx,0.5,0.49\nx,true,false\n");
  const Task task = task_from(folder, "a.csv", R"("label_columns": ["toxic", "threat"])");
  EXPECT_EQ(task.labels, (Labels{"toxic", "threat"}));
  EXPECT_EQ(labels_of(task), (std::vector<Labels>{{"toxic"}, {}, {"toxic"}, {"toxic"}}));
  folder.file("a.csv", "text,toxic,threat\nx,-1,-1\n");
  EXPECT_EQ(message_of<Error>([&] { labels_of(task); }),
            (folder / "a.csv").string() +
                ":2: the label column toxic holds \"-1\"; allowed: 0, 1, false, true, or a share "
                "from 0 to 1");
}

TEST(LabelSets, AreThoseOfAFastTextLine) {
  TempFolder folder;
  folder.file("a.txt", "__label__b __label__a fine\n__label__a so\n");
  const Task task = task_from(folder, "a.txt", R"("target": "{label}", "label_kind": "multi")");
  EXPECT_EQ(labels_of(task), (std::vector<Labels>{{"b", "a"}, {"a"}}));
  EXPECT_EQ(labels_in(task, "train"), (Labels{"a", "b"}));
}

TEST(LabelSets, WithAnUnknownLabelAreABadRow) {
  TempFolder folder;
  folder.file("a.jsonl", "{\"text\": \"x\", \"kinds\": [\"spam\"]}\n");
  const Task task = task_from(folder, "a.jsonl",
                              R"("target": "{kinds}", "label_kind": "multi", "labels": ["a"])");
  EXPECT_EQ(message_of<Error>([&] { labels_of(task); }),
            (folder / "a.jsonl").string() + ":1: the label \"spam\" is not in the task's list: a");
}

TEST(LabelSets, AreCountedPerLabel) {
  TempFolder folder;
  folder.file("a.csv", "text,kinds\nx,b|a\nx,\nx,a\n");
  const Task task = task_from(folder, "a.csv", R"("target": "{kinds}", "label_separator": "|")");
  const SplitSummary summary = summarise_split(task, "train", {});
  EXPECT_EQ(summary.targets, (SplitSummary::Counts{{"a", 2}, {"(no label)", 1}, {"b", 1}}));
}

TEST(LabelSets, TaskIsRememberedWhole) {
  TempFolder folder;
  const Task task = task_from(
      folder, "a.csv",
      R"("label_columns": ["toxic", "threat"], "metrics": ["accuracy"], "positive_label": "threat")");
  const Task again = Task::from_json({task.to_json(), "task.json"});
  EXPECT_EQ(again.to_json(), task.to_json());
  EXPECT_EQ(again.label_kind, LabelKind::Multi);
  EXPECT_EQ(again.label_columns, task.label_columns);
  EXPECT_EQ(again.metrics, std::vector{Metric::Accuracy});
}

TEST(LabelSets, RefuseKeysThatContradictEachOther) {
  TempFolder folder;
  const auto refused = [&](const std::string& keys) {
    return message_of<Error>([&] { task_from(folder, "a.csv", keys); });
  };
  EXPECT_NE(refused(R"("target": "is {a}", "label_kind": "multi")"), "");
  EXPECT_NE(refused(R"("target": "{a}", "label_columns": ["b"])"), "");
  EXPECT_NE(refused(R"("answers": "a", "label_kind": "multi")"), "");
  EXPECT_NE(refused(R"("target": "{a}", "label_kind": "single", "label_separator": "|")"), "");
  EXPECT_NE(refused(R"("label_kind": "multi")"), "");
}

}  // namespace convseq
