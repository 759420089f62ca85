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

  // Fine-tunes on a task of the synthetic suite and evaluates on its test split.
  Json evaluate(const std::string& task, const std::string& options) {
    const std::string model = at("model" + std::to_string(models_++));
    const std::string file = at("tasks/" + task + "/task.json");
    run("finetune " + model + " " + file + " --quiet " + options);
    return parse_json(run("evaluate " + model + " " + file + " --quiet --json"), task);
  }

  struct Options {
    std::string corpus, tokenizer, tasks, pretrain;
  };

  // A corpus, its tokenizer, the tasks, and a model that has read the corpus.
  void prepare(const Options& options) {
    run("synth corpus " + at("corpus") + options.corpus);
    run("tokenizer train " + at("corpus") + " --out " + at("tokenizer") + " --vocabulary 700" +
        options.tokenizer);
    run("synth tasks " + at("tasks") + options.tasks);
    run("pretrain " + at("pretrained") + " --model paper-light-tiny --corpus " + at("corpus") +
        " --tokenizer " + at("tokenizer") + " --noise 0.3 --batch 32 --quiet" + options.pretrain);
  }

  std::string from_scratch() const {
    return " --model paper-light-tiny --tokenizer " + at("tokenizer");
  }
  std::string from_pretrained() const { return " --from " + at("pretrained"); }

  testing::TempFolder folder_;
  int models_ = 0;
};

// Few labels, few steps: the model that has read the corpus predicts the tokens of the answers far
// better. Seeds 1, 2 and 3 gain 1.25 to 1.32 nats per token; a single step of pre-training gains
// 0.1.
TEST_F(PretrainingHelps, ALightModelWithFewLabels) {
  prepare({.corpus = " --documents 6000",
           .tokenizer = " --lines 4000",
           .tasks = " --family compositional --train 300 --validation 20 --test 100",
           .pretrain = " --source 64 --target 44 --steps 250"});
  const std::string options = "--epochs 4 --no-best";
  const double scratch = evaluate("compositional", options + from_scratch())["tokens"]["nll"];
  const double pretrained = evaluate("compositional", options + from_pretrained())["tokens"]["nll"];
  std::printf("nats per token: %.3f from scratch, %.3f pre-trained\n", scratch, pretrained);
  EXPECT_LT(pretrained, scratch - 0.6);
}

// Half of the texts judge with words that training never shows: a model that has not read the
// corpus guesses at them, whatever its learning rate; one that has read it may know them, and keeps
// what it knows by learning slowly.
using LongPretrainingHelps = PretrainingHelps;
TEST_F(LongPretrainingHelps, ALightModelWithWordsThatTrainingNeverShows) {
  prepare({.corpus = " --documents 20000",
           .tokenizer = "",
           .tasks = " --family lexical",
           .pretrain = " --source 128 --target 80 --steps 1200 --save-every 1200"});
  const std::string options = "--epochs 4";
  const auto accuracy = [](const Json& report) -> double { return report["scores"][0]["value"]; };
  const double scratch = accuracy(evaluate("lexical", options + from_scratch()));
  const double pretrained =
      accuracy(evaluate("lexical", options + " --lr 1e-3" + from_pretrained()));
  std::printf("accuracy: %.3f from scratch, %.3f pre-trained\n", scratch, pretrained);
  EXPECT_GT(pretrained, scratch + 0.04);
}

}  // namespace
}  // namespace convseq
