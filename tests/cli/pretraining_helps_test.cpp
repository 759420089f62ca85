// The paper's first question on data of our own, as a user would ask it: does pre-training help?
#include <gtest/gtest.h>

#include "base/json_file.h"
#include "shell.h"
#include "temp_folder.h"

namespace convseq {
namespace {

class PretrainingHelps : public ::testing::Test {
 protected:
  std::string run(const std::string& arguments) {
    const auto outcome =
        testing::run_shell("(" CONVSEQ_PROGRAM " " + arguments + " 2>" + at("log") + ")");
    EXPECT_EQ(outcome.exit_code, 0) << arguments << "\n" << read_text_file(folder_ / "log");
    return outcome.output;
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  double accuracy(const std::string& task, const std::string& name, const std::string& start) {
    const Json report = parse_json(run("finetune " + at(name) + " " + at("tasks/" + task) +
                                       "/task.json --epochs 4 --quiet --json " + start),
                                   name);
    return report["evaluation"]["test"]["scores"][0]["value"];
  }

  testing::TempFolder folder_;
};

// Scope: four labels, no bag of words tells them apart. With 2,000 examples a tiny light model
// finds the negation or the intensifier, hardly both; one that has read the corpus knows the words.
TEST_F(PretrainingHelps, ALightModelWithScope) {
  run("synth corpus " + at("corpus") + " --documents 10000");
  run("tokenizer train " + at("corpus") + " --out " + at("tokenizer") +
      " --vocabulary 700 --lines 3000");
  run("synth tasks " + at("tasks") + " --family scope --windows 0");
  run("pretrain " + at("pretrained") + " --model paper-light-tiny --corpus " + at("corpus") +
      " --tokenizer " + at("tokenizer") +
      " --source 128 --target 32 --batch 32 --steps 450 --save-every 450 --quiet");
  const double scratch =
      accuracy("scope_0", "scratch", "--model paper-light-tiny --tokenizer " + at("tokenizer"));
  const double pretrained = accuracy("scope_0", "after", "--from " + at("pretrained"));
  RecordProperty("scratch", std::to_string(scratch));
  RecordProperty("pretrained", std::to_string(pretrained));
  std::printf("scope_0: %.3f from scratch, %.3f pre-trained\n", scratch, pretrained);
  EXPECT_GT(pretrained, scratch + 0.1);
}

}  // namespace
}  // namespace convseq
