// Multi-label models and calibration, through the program.
#include "training_commands.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::commands;
using testing::Outcome;
using testing::run_command;
using testing::TempFolder;

namespace {

Json report_of(const std::string& arguments) { return testing::report_of(arguments + " --quiet"); }

double metric(const Json& report, const std::string& name) {
  for (const Json& score : report["scores"]) {
    if (score["metric"] == name) return score["value"];
  }
  ADD_FAILURE() << name << " is not in " << report["scores"];
  return -1;
}

// Two words, each of which gives the text a label; none gives none.
std::string table(int rows) {
  std::string lines = "text,river,stone\n";
  for (int i = 0; i < rows; ++i) {
    const bool river = i % 2 == 0, stone = i % 3 == 0;
    lines += fmt::format("the small {} of the {} {},{},{}\n", river ? "river" : "tree",
                         stone ? "stone" : "house", i, int{river}, int{stone});
  }
  return lines;
}

class LabelCommands : public ::testing::Test {
 protected:
  void SetUp() override {
    train_ = folder_.file("train.csv", table(60)).string();
    validation_ = folder_.file("validation.csv", table(24)).string();
    model_ = (folder_ / "model").string();
  }

  std::string finetune(const std::string& labels) const {
    return fmt::format(
        "finetune {} --train {} --validation {} --source '{{text}}' {} --answer pooled --model "
        "paper-light-tiny --tokenizer {} --set d_model=32 d_ff=64 heads=2 d_kv=16 --batch 20 "
        "--steps 120 --validate-every 60 --warmup 2 --device cpu --quiet",
        model_, train_, validation_, labels, commands().path("tokenizer"));
  }

  TempFolder folder_;
  std::string train_, validation_, model_;
};

}  // namespace

TEST_F(LabelCommands, AMultiLabelModelIsTrainedEvaluatedAndCalibrated) {
  testing::expect_success(finetune("--label-columns river,stone"));
  EXPECT_EQ(read_json_file(fs::path(model_) / "config.json")["label_kind"], "multi");

  const std::string evaluate = "evaluate " + model_ + " --device cpu ";
  const Json plain = report_of(evaluate + validation_);
  EXPECT_GT(metric(plain, "micro_f1"), 0.9);
  EXPECT_GT(metric(plain, "roc_auc"), 0.9);
  EXPECT_GE(metric(plain, "ece"), 0);
  EXPECT_FALSE(plain.contains("calibration"));
  EXPECT_FALSE(plain.contains("confusion"));

  const Json fitted = report_of(evaluate + "--validation " + validation_ +
                                " --fit-temperature --fit-threshold recall=1 --save");
  EXPECT_EQ(fitted["split"], "validation");
  EXPECT_EQ(fitted["calibration"]["thresholds"].size(), 2u);
  EXPECT_EQ(fitted["calibration"]["fitted"]["examples"], 24);
  EXPECT_EQ(fitted["calibration"]["fitted"]["files"], Json::array({validation_}));
  for (const Json& each : fitted["classes"]) EXPECT_EQ(each["recall"], 1.0) << each;
  EXPECT_EQ(read_json_file(fs::path(model_) / "calibration.json"), fitted["calibration"]);

  const Outcome other =
      run_command(evaluate + validation_ + " --source '{text}' --target '{river}' --labels 0,1");
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_NE(other.output.find("which is not a label of validation.csv; use --no-calibration"),
            std::string::npos)
      << other.output;

  const Json again = report_of(evaluate + validation_);
  EXPECT_EQ(again["scores"], fitted["scores"]) << "what was saved applies";
  EXPECT_EQ(report_of(evaluate + validation_ + " --no-calibration")["scores"], plain["scores"]);
}

TEST_F(LabelCommands, AThresholdOfOneLabelIsFittedAndApplied) {
  const std::string labels = "--target '{river}' --labels 0,1 --positive-label 1";
  testing::expect_success(finetune(labels));
  const Json fitted = report_of("evaluate " + model_ + " --device cpu --validation " + validation_ +
                                " --fit-threshold precision=0.9 --save");
  EXPECT_TRUE(fitted["calibration"]["thresholds"].contains("1"));
  EXPECT_GE(fitted["classes"][1]["precision"], 0.9);
  const fs::path file = fs::path(model_) / "calibration.json";
  Json calibration = read_json_file(file);
  calibration["thresholds"]["1"] = 1.0;  // never reached
  write_json_file(file, calibration);
  const Json never = report_of("evaluate " + model_ + " --device cpu " + validation_);
  EXPECT_EQ(never["classes"][1]["answered"], 0);

  const std::string stored = read_text_file(file);
  const Outcome full =
      run_command("evaluate " + model_ + " --device cpu --quiet --validation " + validation_ +
                  " --fit-threshold f1 --save --predictions /dev/full");
  EXPECT_EQ(full.exit_code, 1);
  EXPECT_NE(full.output.find("24 examples"), std::string::npos) << full.output;
  EXPECT_EQ(read_text_file(file), stored);
}

TEST_F(LabelCommands, RefuseWhatDoesNotFit) {
  const auto expect_refusal = [](const std::string& arguments, const std::string& named) {
    const Outcome outcome = run_command(arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(named), std::string::npos) << outcome.output;
  };
  testing::expect_success(finetune("--label-columns river,stone"));
  const std::string evaluate = "evaluate " + model_ + " --device cpu ";
  expect_refusal(evaluate + validation_ + " --save", "--save: nothing is fitted");
  expect_refusal(evaluate + validation_ + " --fit-threshold precision=2",
                 "--fit-threshold: precision=2; allowed: precision=NUMBER");
  expect_refusal(evaluate + "--test " + validation_ + " --fit-temperature",
                 "has no validation split to fit to");
  expect_refusal(evaluate + "--test " + validation_ + " --validation " + train_ +
                     " --split test --fit-temperature",
                 "--split test: thresholds and temperatures are fitted to validation data");
  expect_refusal(evaluate + validation_ + " --source '{text}' --target '{river}' --labels 0,1",
                 "its labels are [0, 1], the model's head has [river, stone]");
  expect_refusal("task " + train_ + " --source '{text}'",
                 "--source requires --target or --label-columns");
  expect_refusal("task sst2 --label-kind multi", "--label-kind: the task sst2 has its own labels");
}

}  // namespace convseq
