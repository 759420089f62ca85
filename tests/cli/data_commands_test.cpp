#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
using testing::run_convseq;
using testing::TempFolder;

namespace {

std::string small_corpus() {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("The {} river runs under the {} bridge.\n", i % 7 == 0 ? "old" : "green",
                        i % 3 == 0 ? "stone" : "wooden");
  }
  return text;
}

// A report as JSON is one line, after whatever went to standard error.
Json last_line(const std::string& output) {
  const size_t newline = output.rfind('\n', output.size() - 2);
  return parse_json(output.substr(newline == output.npos ? 0 : newline + 1), "the report");
}

}  // namespace

TEST(TokenizerCommand, TrainsEncodesAndDecodesThroughPipes) {
  TempFolder folder;
  const std::string corpus = folder.file("corpus.txt", small_corpus()).string();
  const std::string model = (folder / "tokenizer").string();
  const auto trained = run_convseq(fmt::format(
      "tokenizer train {} --out {} --model bpe --vocabulary 290 --json", corpus, model));
  ASSERT_EQ(trained.exit_code, 0) << trained.output;
  EXPECT_EQ(last_line(trained.output)["vocabulary_size"], 512);

  const auto ids = run_convseq(fmt::format("tokenizer encode {} {}", model, corpus));
  folder.file("ids.txt", ids.output);
  const auto text =
      run_convseq(fmt::format("tokenizer decode {0} < {1}", model, (folder / "ids.txt").string()));
  EXPECT_EQ(text.output, small_corpus());
  const auto pieces = run_convseq(fmt::format("tokenizer encode {} {} --pieces", model, corpus));
  EXPECT_EQ(pieces.output.find("▁"), 0u) << pieces.output.substr(0, 80);
}

TEST(TokenizerCommand, ReplacesATokenizerOnlyWhenTold) {
  TempFolder folder;
  const std::string corpus = folder.file("corpus.txt", small_corpus()).string();
  const std::string out = (folder / "tokenizer").string();
  const std::string train =
      fmt::format("tokenizer train {} --out {} --model bpe --vocabulary ", corpus, out);
  ASSERT_EQ(run_convseq(train + "290").exit_code, 0);
  const std::string before = read_text_file(folder / "tokenizer" / "spiece.model");
  const auto refused = run_convseq(train + "295");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.output.find("convseq: " + out + ": holds a tokenizer already"), 0u)
      << refused.output;
  EXPECT_EQ(read_text_file(folder / "tokenizer" / "spiece.model"), before);
  EXPECT_EQ(run_convseq(train + "295 --force").exit_code, 0);
  EXPECT_NE(read_text_file(folder / "tokenizer" / "spiece.model"), before);

  folder.file("tokenizer/mine.txt", "keep me");
  EXPECT_EQ(run_convseq(train + "290 --force").exit_code, 2);
  EXPECT_EQ(read_text_file(folder / "tokenizer" / "mine.txt"), "keep me");
}

TEST(TokenizerCommand, RefusesBadInputInOneLine) {
  TempFolder folder;
  const std::string bad = folder.file("bad.jsonl", "{\"text\": \"x\"}\n{}\n").string();
  const auto outcome = run_convseq(fmt::format(
      "tokenizer train {} --out {} 2>&1 | grep -v sampling", bad, (folder / "t").string()));
  EXPECT_EQ(outcome.output, "convseq: " + bad + ":2: has no field text\n");
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
}

TEST(TaskCommand, ShowsAPersonsOwnTable) {
  TempFolder folder;
  const std::string table =
      folder.file("reviews.csv", "text,stars\n\"Lovely, really\",5\nPoor,1\nFine,six\n").string();
  const std::string flags = " --source 'review: {text}' --target '{stars}' --labels 1,5";
  const auto stopped = run_convseq("task " + table + flags);
  EXPECT_EQ(stopped.exit_code, 2);
  EXPECT_NE(stopped.output.find(table + ":4: the label \"six\" is not in the task's list: 1, 5"),
            std::string::npos)
      << stopped.output;

  const auto shown = run_convseq("task " + table + flags + " --on-bad-line skip --json");
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_NE(shown.output.find("1 bad line skipped, the first: " + table + ":4"), std::string::npos);
  const Json report = last_line(shown.output);
  EXPECT_EQ(report["bad_lines_skipped"], 1);
  EXPECT_EQ(report["splits"][0]["rows"], 2);
  EXPECT_EQ(report["splits"][0]["examples"][0]["source"], "review: Lovely, really");
}

TEST(DataCommands, HelpHasAnExample) {
  for (const char* command : {"tokenizer train", "tokenizer encode", "tokenizer decode", "task"}) {
    const auto help = run_convseq(std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_NE(help.output.find("Example"), std::string::npos) << command;
  }
}

}  // namespace convseq
