#include "convseq/data/task/encoded_task_reader.h"

#include <gtest/gtest.h>

#include "convseq/text/tokenizer_trainer.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

constexpr int kRows = 1000;

std::string sentence(int row) {
  std::string text = "river";
  for (int i = 0; i < row % 37; ++i) text += i % 3 == 0 ? " stone" : " winter";
  return text + " " + std::to_string(row);
}

// Every tenth row is dropped by the task; `bad` has no label.
std::string table(int rows, int bad = -1) {
  std::string lines;
  for (int row = 0; row < rows; ++row) {
    const char* label = row == bad ? "" : row % 10 == 9 ? "unknown" : row % 2 == 0 ? "yes" : "no";
    lines += fmt::format("{{\"text\": \"{}\", \"label\": \"{}\"}}\n", sentence(row), label);
  }
  return lines;
}

class EncodedTaskReaderTest : public ::testing::Test {
 protected:
  EncodedTaskReaderTest() : tokenizer_(trained()) {
    folder_.file("a.jsonl", table(kRows));
    folder_.file("b.jsonl", table(3));
  }

  static Tokenizer trained() {
    std::vector<std::string> sentences;
    for (int row = 0; row < 200; ++row) sentences.push_back(sentence(row));
    const TempFolder folder;
    write_tokenizer_folder(folder / "t",
                           train_tokenizer(sentences, {.kind = TokenizerKind::Bpe, .pieces = 300}));
    return Tokenizer::load(folder / "t");
  }

  Task task(std::vector<std::filesystem::path> files) const {
    Task task = ad_hoc_task("{text}", "{label}", {{"all", std::move(files)}});
    task.folder = folder_.path();
    task.drop = {{"label", {"unknown"}}};
    task.max_source_tokens = 20;
    return task;
  }

  // What one thread reads and encodes.
  struct Expected {
    std::vector<EncodedTaskExample> examples = {};
    RowTotals totals = {};
  };
  Expected one_by_one(const Task& task, int64_t limit, const LineReaderOptions& lines = {}) const {
    TaskReader reader(task, "all", {.data = {}, .lines = lines});
    TaskEncoder encoder(task, tokenizer_);
    Expected expected;
    for (TaskExample example; reader.next(example);) {
      expected.examples.push_back({.text = example, .ids = encoder.encode(example)});
      if (std::ssize(expected.examples) == limit) break;
    }
    expected.totals = reader.totals();
    encoder.add_to(expected.totals);
    return expected;
  }

  TempFolder folder_;
  const Tokenizer tokenizer_;
};

}  // namespace

TEST_F(EncodedTaskReaderTest, GivesWhatOneThreadGivesForAnyThreadsAndLimit) {
  const Task two_files = task({"a.jsonl", "b.jsonl"});
  for (const int64_t limit : {0, 1, 128, 300, 902, 5000}) {
    const Expected expected = one_by_one(two_files, limit);
    for (const size_t threads : {0, 1, 3, 8}) {
      EncodedTaskReader reader(two_files, "all", tokenizer_, {.limit = limit, .threads = threads});
      size_t count = 0;
      for (EncodedTaskExample each; reader.next(each); ++count) {
        ASSERT_LT(count, expected.examples.size());
        EXPECT_EQ(each.text.source.text, expected.examples[count].text.source.text);
        EXPECT_EQ(each.text.target, expected.examples[count].text.target);
        EXPECT_EQ(each.ids.source, expected.examples[count].ids.source);
        EXPECT_EQ(each.ids.target, expected.examples[count].ids.target);
      }
      EXPECT_EQ(count, expected.examples.size());
      EXPECT_EQ(reader.totals(), expected.totals) << limit;
    }
  }
}

TEST_F(EncodedTaskReaderTest, ThrowsAnErrorInItsPlace) {
  folder_.file("bad.jsonl", table(kRows, 500));
  const Task bad = task({"bad.jsonl"});
  EncodedTaskReader reader(bad, "all", tokenizer_, {.threads = 4});
  EncodedTaskExample example;
  for (int row = 0; row < 450; ++row) ASSERT_TRUE(reader.next(example)) << "90% of 500 are kept";
  EXPECT_NE(message_of<Error>([&] { reader.next(example); }).find("bad.jsonl:501"),
            std::string::npos);
}

TEST_F(EncodedTaskReaderTest, CountsTheBadRowsThatItSkips) {
  folder_.file("bad.jsonl", table(kRows, 500));
  BadLines bad_lines(OnBadLine::Skip), expected_bad_lines(OnBadLine::Skip);
  const Task bad = task({"bad.jsonl"});
  const Expected expected = one_by_one(bad, 0, {.bad_lines = &expected_bad_lines});
  EncodedTaskReader reader(bad, "all", tokenizer_,
                           {.reader = {.data = {}, .lines = {.bad_lines = &bad_lines}}});
  EncodedTaskExample example;
  while (reader.next(example)) continue;
  EXPECT_EQ(reader.totals(), expected.totals);
  EXPECT_EQ(reader.totals().skipped, 1);
}

TEST_F(EncodedTaskReaderTest, RefusesASplitWithoutExamplesAsTheTaskReaderDoes) {
  folder_.file("dropped.jsonl", R"({"text": "river", "label": "unknown"})");
  for (const char* file : {"dropped.jsonl", "nowhere.jsonl"}) {
    const Task nothing = task({file});
    const std::string expected = message_of<Error>([&] { one_by_one(nothing, 0); });
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(message_of<Error>([&] {
                EncodedTaskExample example;
                EncodedTaskReader(nothing, "all", tokenizer_).next(example);
              }),
              expected);
  }
}

}  // namespace convseq
