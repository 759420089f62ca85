#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
#include "program.h"
#include "temp_folder.h"

namespace convseq {
using testing::run_convseq;
using testing::TempFolder;

TEST(SynthCommand, WritesACorpusAndTasks) {
  TempFolder folder;
  const auto corpus = run_convseq(fmt::format("synth corpus {} --documents 20 --shards 2 --json",
                                              (folder / "corpus").string()));
  EXPECT_EQ(corpus.exit_code, 0) << corpus.output;
  EXPECT_TRUE(std::filesystem::exists(folder / "corpus" / "synth.train.00001-of-00002.json.gz"));

  const auto tasks =
      run_convseq(fmt::format("synth tasks {} --family pair,span --comparisons 1,3 --train 40 "
                              "--validation 8 --test 8",
                              (folder / "tasks").string()));
  EXPECT_EQ(tasks.exit_code, 0) << tasks.output;
  for (const char* task : {"pair_1", "pair_3", "span_4"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / "tasks" / task / "task.json")) << task;
    EXPECT_NE(tasks.output.find(task), std::string::npos) << tasks.output;
  }
  EXPECT_EQ(read_json_file(folder / "tasks" / "baselines.json").size(), 3u);
}

TEST(SynthCommand, WritesOnlyToANewFolder) {
  TempFolder folder;
  const auto mine = folder.file("mine.txt", "keep me");
  for (const char* what : {"corpus", "tasks"}) {
    const auto outcome = run_convseq(fmt::format("synth {} {}", what, folder.path().string()));
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_NE(outcome.output.find("(it holds mine.txt); choose another folder"), std::string::npos)
        << outcome.output;
    EXPECT_EQ(read_text_file(mine), "keep me");
  }
}

TEST(SynthCommand, RefusesWrongUseInOneLine) {
  TempFolder folder;
  const std::string out = (folder / "out").string();
  for (const std::string& arguments :
       {"synth corpus " + out + " --documents 0", "synth corpus " + out + " --documents few",
        "synth tasks " + out + " --family poetry", "synth tasks " + out + " --comparisons 1,99",
        std::string("synth corpus")}) {
    const auto outcome = run_convseq(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output.find("convseq: "), 0u) << outcome.output;
    EXPECT_EQ(outcome.output.find('\n'), outcome.output.size() - 1) << outcome.output;
    EXPECT_FALSE(std::filesystem::exists(out)) << arguments;
  }
}

}  // namespace convseq
