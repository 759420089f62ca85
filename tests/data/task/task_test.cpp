#include "convseq/data/task/task.h"

#include <gtest/gtest.h>

#include "convseq/base/error.h"
#include "convseq/data/task/split_summary.h"
#include "convseq/data/task/task_labels.h"
#include "convseq/data/task/task_reader.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

std::vector<TaskExample> examples_of(const Task& task, const std::string& split,
                                     TaskReaderOptions options = {}) {
  TaskReader reader(task, split, std::move(options));
  std::vector<TaskExample> examples;
  for (TaskExample example; reader.next(example);) examples.push_back(example);
  return examples;
}

Task task_from(const TempFolder& folder, const std::string& json) {
  return find_task(folder.file("task.json", json));
}

const std::string kReviews =
    R"({"name": "reviews", "files": {"train": "a.csv", "test": ["a.csv", "b.csv"]},
        "source": "review: {text}", "target": "{label}", "labels": ["bad", "good"],
        "label_map": {"0": "bad", "1": "good"}, "drop": {"label": ["?"]}})";

}  // namespace

TEST(Task, ReadsExamplesOfEverySplit) {
  TempFolder folder;
  folder.file("a.csv", "text,label\nfine,1\nso so,?\nawful,bad\n");
  folder.file("b.csv", "text,label\nnice,good\n");
  const Task task = task_from(folder, kReviews);
  const auto test = examples_of(task, "test");
  ASSERT_EQ(test.size(), 3u);
  EXPECT_EQ(test[0].source.text, "review: fine");
  EXPECT_EQ(test[0].target, "good") << "mapped";
  EXPECT_EQ(test[1].target, "bad") << "already a label; the row before is left out";
  EXPECT_EQ(test[2].source.text, "review: nice");

  TaskReader reader(task, "train");
  for (TaskExample example; reader.next(example);) {
  }
  EXPECT_EQ(reader.read(), 2);
  EXPECT_EQ(reader.totals().dropped, 1);
}

TEST(Task, KeepsEveryAcceptableAnswerAndTheCategory) {
  TempFolder folder;
  folder.file("a.jsonl", R"({"q": "who?", "a": ["Ann", "Ann Lee"], "kind": "person"})");
  const Task task = task_from(folder, R"({"name": "t", "files": {"test": "a.jsonl"},
      "source": "{q}", "answers": "a", "category": "kind"})");
  const auto examples = examples_of(task, "test");
  ASSERT_EQ(examples.size(), 1u);
  EXPECT_EQ(examples[0].target, "Ann");
  EXPECT_EQ(examples[0].answers, (std::vector<std::string>{"Ann", "Ann Lee"}));
  EXPECT_EQ(examples[0].category, "person");
}

TEST(Task, LooksBesideTheTaskFileAndThenInTheDataFolder) {
  TempFolder folder, data;
  data.file("a.csv", "text,label\nfrom the data folder,1\n");
  const Task task = task_from(folder, kReviews);
  EXPECT_EQ(examples_of(task, "train", {.data = data.path()})[0].source.text,
            "review: from the data folder");
  EXPECT_EQ(message_of<Error>([&] { examples_of(task, "train", {.data = "/none"}); }),
            fmt::format("the task reviews has no file {}, nor /none/a.csv; data names "
                        "the folder that holds it",
                        (folder / "a.csv").string()));
  EXPECT_EQ(message_of<Error>([&] { find_task_file(task, "/nope/x.csv", "/none"); }),
            "/nope/x.csv: no such file");
  folder.file("a.csv", "text,label\nfrom beside,1\n");
  EXPECT_EQ(examples_of(task, "train", {.data = data.path()})[0].source.text,
            "review: from beside");
}

struct BadRow {
  std::string name, content, problem;
};

TEST(Task, NamesABadRowOrSkipsAndCountsIt) {
  TempFolder folder;
  for (const BadRow& bad :
       {BadRow{"a.csv", "text,label\nx,1\ny,great\nz,0\n",
               ":3: the label \"great\" is not in the task's list: bad, good"},
        BadRow{"a.csv", "text,label\nx,1\ny,\nz,0\n", ":3: has no target: label is empty"},
        BadRow{"a.jsonl",
               "{\"text\": \"x\", \"label\": 1}\n{\"text\": \"y\", \"label\": "
               "null}\n{\"text\": \"z\", \"label\": \"bad\"}\n",
               ":2: has no target: label is empty"},
        BadRow{"a.jsonl",
               "{\"text\": \"x\", \"label\": 1}\n{\"text\": \"y\"}\n"
               "{\"text\": \"z\", \"label\": \"bad\"}\n",
               ":2: has no column label; it has: text"}}) {
    const auto path = folder.file(bad.name, bad.content);
    Task task = task_from(folder, kReviews);
    task.files = {{"all", {bad.name}}};
    EXPECT_EQ(message_of<Error>([&] { examples_of(task, "all"); }), path.string() + bad.problem);
    BadLines skipped(OnBadLine::Skip);
    EXPECT_EQ(examples_of(task, "all", {.lines = {.bad_lines = &skipped}}).size(), 2u);
    EXPECT_EQ(skipped.skipped(), 1);
  }
}

TEST(Task, AMissingLabelIsNoClassEvenWhereTheTaskListsNone) {
  TempFolder folder;
  BadLines skipped(OnBadLine::Skip);
  const TaskReaderOptions skipping{.lines = {.bad_lines = &skipped}};
  const auto csv = folder.file("a.csv", "text,label\nx,good\ny,  \nz,\n");
  EXPECT_EQ(labels_in(ad_hoc_task("{text}", "{label}", {{"all", {csv}}}), "all", skipping),
            std::vector<std::string>{"good"});
  EXPECT_EQ(labels_in(ad_hoc_task("{text}", "class {label}", {{"all", {csv}}}), "all", skipping),
            std::vector<std::string>{"class good"});
  const auto json = folder.file("a.jsonl",
                                "{\"text\": \"x\", \"label\": [null, \"\"]}\n"
                                "{\"text\": \"y\", \"label\": [\"\", \"good\"]}\n");
  Task task = ad_hoc_task("{text}", "{label}", {{"all", {json}}});
  task.target = {};
  task.answers = "label";
  EXPECT_EQ(labels_in(task, "all", skipping), std::vector<std::string>{"good"});
  EXPECT_EQ(skipped.skipped(), 5);

  Task said = ad_hoc_task("{text}", "{label}", {{"all", {csv}}});
  said.label_map[""] = "unknown";  // the task says what an empty field stands for
  EXPECT_EQ(labels_in(said, "all"), (std::vector<std::string>{"good", "unknown"}));
}

TEST(Task, LabelsAreReadWithoutTheWhiteSpaceAroundThem) {
  TempFolder folder;
  folder.file("a.csv", "text,label\nx, 1\ny,good \n");
  const Task task = task_from(folder, R"({"name": "t", "files": {"all": "a.csv"},
      "source": "{text}", "target": "{label}", "labels": [" good", "bad "],
      "label_map": {"1 ": " bad"}, "positive_label": " good "})");
  EXPECT_EQ(task.labels, (std::vector<std::string>{"good", "bad"}));
  const auto examples = examples_of(task, "all");
  EXPECT_EQ(examples[0].target, "bad");
  EXPECT_EQ(examples[1].target, "good");
}

TEST(Task, TooManyDifferentTargetsAreNoLabels) {
  TempFolder folder;
  std::string csv = "text,label\n";
  for (int i = 0; i <= 1000; ++i) csv += fmt::format("x,{}\n", i);
  const auto path = folder.file("a.csv", csv);
  EXPECT_EQ(message_of<Error>([&] {
              labels_in(ad_hoc_task("{text}", "{label}", {{"all", {path}}}), "all");
            }),
            "a.csv: the split all has more than 1000 different targets; are they free text? labels "
            "names the labels");
}

TEST(Task, TotalsTellWhatWasSkippedAndDropped) {
  TempFolder folder;
  folder.file("a.csv", "text,label\nfine,1\nso so,?\nawful,\n");
  BadLines skipped(OnBadLine::Skip);
  skipped.report(Error("before this split").at("elsewhere:1"));
  TaskReader reader(task_from(folder, kReviews), "train", {.lines = {.bad_lines = &skipped}});
  for (TaskExample example; reader.next(example);) {
  }
  EXPECT_EQ(reader.totals(), (RowTotals{.rows = 1, .skipped = 1, .dropped = 1}));
}

TEST(Task, IsTheSameAfterJson) {
  TempFolder folder;
  const Task task =
      task_from(folder, R"({"name": "t", "description": "d", "files": {"all": "a.csv"},
      "columns": ["text", "label"], "source": "x: {text}", "target": "{label}", "category": "kind",
      "labels": ["a", "b"], "label_map": {"0": "a"}, "positive_label": "b",
      "metrics": ["f1", "accuracy"], "drop": {"label": ["?"]}, "max_source_tokens": 99,
      "max_target_tokens": 5, "cut": "text"})");
  const Task again = Task::from_json({task.to_json(), "task.json"});
  EXPECT_EQ(again.to_json(), task.to_json());
  EXPECT_TRUE(again.files.empty());
  EXPECT_EQ(again.labels, task.labels);
  EXPECT_EQ(again.label_map, task.label_map);
  EXPECT_EQ(again.metrics, task.metrics);
  EXPECT_EQ(again.drop, task.drop);
  EXPECT_EQ(again.max_source_tokens, 99);
  EXPECT_EQ(again.cut, "text");
  const Task answers = find_task("squad");
  EXPECT_EQ(Task::from_json({answers.to_json(), "task.json"}).answers, "answers");
  EXPECT_EQ(message_of<Error>(
                [&] { task_from(folder, R"({"name": "t", "source": "{a}", "target": "{b}"})"); }),
            (folder / "task.json").string() + ": files names no split");
}

TEST(Task, ASplitWithoutAnyGoodRowIsAnErrorEvenWhenSkipping) {
  TempFolder folder;
  folder.file("a.csv", "text,label\nx,great\n");
  const Task task = task_from(folder, kReviews);
  BadLines skipped(OnBadLine::Skip);
  EXPECT_EQ(
      message_of<Error>([&] { examples_of(task, "train", {.lines = {.bad_lines = &skipped}}); }),
      "the split train of the task reviews has no example that can be used");
}

TEST(Task, FilesAreCheckedByName) {
  TempFolder folder;
  const std::string path = (folder / "task.json").string();
  const auto message = [&](const std::string& fields) {
    return message_of<Error>(
        [&] { task_from(folder, R"({"name": "t", "files": {"test": "a.csv"}, )" + fields + "}"); });
  };
  const std::string templates = R"("source": "{text}", "target": "{label}")";
  EXPECT_EQ(message(templates), "");
  EXPECT_EQ(message(templates + R"(, "lables": [])").find(path + ": lables is no known key"), 0u);
  EXPECT_EQ(message(R"("target": "{label}")"), path + ": source is missing");
  EXPECT_EQ(message(R"("source": "text", "target": "{label}")"),
            path + ": source \"text\" puts in no field; write {name} for one");
  EXPECT_EQ(
      message(R"("source": "{text", "target": "{label}")").find(path + ": source: the template"),
      0u);
  EXPECT_EQ(message(R"("source": "{text}")"),
            path + ": one of target and answers is needed, and not both");
  EXPECT_EQ(message(templates + R"(, "cut": "premise")"),
            path + ": cut is premise, which is not a field of source; allowed: text");
  EXPECT_EQ(message(templates + R"(, "metrics": ["f1"])"),
            path + ": the metric f1 needs a positive_label; macro_f1 does not");
  EXPECT_EQ(message(templates + R"(, "metrics": ["bleu"])")
                .find(path + ": metrics is \"bleu\"; allowed: accuracy"),
            0u);
  EXPECT_EQ(message(templates + R"(, "labels": ["a"], "positive_label": "b")"),
            path + ": positive_label is b, which is not a label; allowed: a");
  EXPECT_EQ(message(templates + R"(, "labels": ["a", "a"])"), path + ": labels names a twice");
  EXPECT_EQ(message(templates + R"(, "labels": ["a"], "label_map": {"0": "b"})"),
            path + ": label_map: 0 becomes b, which is not a label");
  EXPECT_EQ(message(templates + R"(, "metrics": ["accuracy", "accuracy"])"),
            path + ": metrics names accuracy twice");
  EXPECT_EQ(message(templates + R"(, "max_target_tokens": 4611686018427387904)"),
            path + ": max_target_tokens is 4611686018427387904; allowed: 2 to 1048576");
  EXPECT_EQ(message(templates + R"(, "max_source_tokens": 1)"),
            path + ": max_source_tokens is 1; allowed: 2 to 1048576");
  EXPECT_EQ(
      message_of<Error>([] { find_task("sst3"); }).find("sst3: neither a task file nor a known"),
      0u);
  EXPECT_EQ(message_of<Error>([] { find_task("sst2").files_of("tests"); }),
            "the task sst2 has no split tests; it has: train, validation, test");
}

TEST(Task, APersonsOwnTableNeedsNoTaskFile) {
  TempFolder folder;
  const auto path = folder.file("mine.tsv", "stars\tbody\n5\tlovely\n");
  const Task task = ad_hoc_task("review: {body}", "{stars}", {{"all", {path}}});
  const auto examples = examples_of(task, "all");
  EXPECT_EQ(examples[0].source.text, "review: lovely");
  EXPECT_EQ(examples[0].target, "5");
  EXPECT_EQ(message_of<Error>([&] {
              examples_of(ad_hoc_task("{text}", "{stars}", {{"all", {path}}}), "all");
            }),
            path.string() + ":1: has no column text; it has: stars, body");
}

TEST(SplitSummary, CountsLabelsAndLengths) {
  TempFolder folder;
  const auto path = folder.file("a.csv", "text,label\na b c,1\na,1\na b,0\n");
  const SplitSummary summary =
      summarise_split(ad_hoc_task("{text}", "{label}", {{"all", {path}}}), "all", {.examples = 1});
  EXPECT_EQ(summary.totals, (RowTotals{.rows = 3}));
  EXPECT_EQ(summary.targets, (SplitSummary::Counts{{"1", 2}, {"0", 1}}));
  EXPECT_EQ(summary.source.mean, 2);
  EXPECT_EQ(summary.source.longest, 3);
  EXPECT_EQ(summary.examples.size(), 1u);
}

}  // namespace convseq
