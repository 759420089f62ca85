// The paper's first question on data of our own, as a user would ask it: does pre-training help?
#include <gtest/gtest.h>

#include "convseq/base/file/json_file.h"
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

  double accuracy(const std::string& name, const std::string& start) {
    const Json report = parse_json(run("finetune " + at(name) + " " + at("tasks/lexical") +
                                       "/task.json --epochs 4 --quiet --json " + start),
                                   name);
    return report["evaluation"]["test"]["scores"][0]["value"];
  }

  testing::TempFolder folder_;
};

// Half of the texts judge with words that training never shows: a model that has not read the
// corpus guesses at them, whatever its learning rate; one that has read it may know them, and keeps
// what it knows by learning slowly.
TEST_F(PretrainingHelps, ALightModelWithWordsThatTrainingNeverShows) {
  run("synth corpus " + at("corpus") + " --documents 20000");
  run("tokenizer train " + at("corpus") + " --out " + at("tokenizer") + " --vocabulary 700");
  run("synth tasks " + at("tasks") + " --family lexical");
  run("pretrain " + at("pretrained") + " --model paper-light-tiny --corpus " + at("corpus") +
      " --tokenizer " + at("tokenizer") +
      " --noise 0.3 --source 128 --target 80 --batch 32 --steps 1200 --save-every 1200 --quiet");
  const double scratch =
      accuracy("scratch", "--model paper-light-tiny --tokenizer " + at("tokenizer"));
  const double pretrained = accuracy("after", "--lr 1e-3 --from " + at("pretrained"));
  RecordProperty("scratch", std::to_string(scratch));
  RecordProperty("pretrained", std::to_string(pretrained));
  std::printf("lexical: %.3f from scratch, %.3f pre-trained\n", scratch, pretrained);
  EXPECT_GT(pretrained, scratch + 0.04);
}

}  // namespace
}  // namespace convseq
