// Fine-tuning in a folder that an earlier run of the same or another command has left.

#include <fstream>
#include <map>
#include <sstream>

#include "convseq/answer/calibration.h"
#include "convseq/train/finetune/finetune_examples.h"
#include "convseq/train/run/training_checkpoint.h"
#include "train/finetuning.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;

namespace {

class FinetuningAgain : public testing::Finetuning {
 protected:
  // A run with dropout and a best model that is not the last one.
  FinetuneOptions validated(const std::string& out) {
    FinetuneOptions run = options(out);
    run.model.dropout = 0.1;
    run.validate_every = 1;
    return run;
  }

  static int64_t checkpoints_of(const FinetuneOptions& run) {
    return Checkpoints(run.out, run.keep).count();
  }

  static void remove_checkpoints(const FinetuneOptions& run) {
    const Checkpoints checkpoints(run.out, run.keep);
    for (int64_t step = 1; step <= run.limits.steps; ++step)
      fs::remove_all(checkpoints.path_of(step));
    ASSERT_EQ(checkpoints.count(), 0);
  }
};

TEST_F(FinetuningAgain, ARefusedCommandThatStartsOverLosesNothing) {
  const auto run = validated("run");
  finetune(run);
  const int64_t before = checkpoints_of(run);
  auto refused = run;
  refused.resume = false;
  refused.task = task(32, {"train"});
  refused.held_out = 0;
  refused.limits.patience = 2;
  EXPECT_EQ(message_of<Error>([&] { finetune(refused); }),
            "a patience of 2 validations needs validation data");
  EXPECT_EQ(checkpoints_of(run), before);
  EXPECT_TRUE(fs::exists(run.out / "best" / kWeightsFile));
}

TEST_F(FinetuningAgain, TheBestOfARunWithoutACheckpointIsNotTheResultOfTheNext) {
  const auto killed = validated("run");
  finetune(stopped_after(killed, 6));
  remove_checkpoints(killed);
  ASSERT_TRUE(fs::exists(killed.out / "best" / kWeightsFile));
  auto next = validated("run"), alone = validated("alone");
  for (auto* each : {&next, &alone}) {
    each->task = task(32, {"train"});
    each->held_out = 0;
    finetune(*each);
  }
  EXPECT_FALSE(fs::exists(next.out / "best"));
  EXPECT_EQ(read_text_file(next.out / kWeightsFile), read_text_file(alone.out / kWeightsFile));
}

TEST_F(FinetuningAgain, ABestModelThatWasRemovedTakesItsScoreAlong) {
  auto run = validated("run");
  finetune(run);
  fs::remove_all(run.out / "best");
  run.limits.steps = 16;
  const FinetuneSummary done = finetune(run);
  EXPECT_EQ(done.training.step, 16);
  EXPECT_EQ(done.reports.at("validation").scores[0].value, done.training.best_validation);
}

TEST_F(FinetuningAgain, RefusesToKeepNoBestModelHalfway) {
  auto run = validated("run");
  finetune(stopped_after(run, 5));
  run.keep_best = false;
  EXPECT_NE(message_of<Error>([&] {
              finetune(run);
            }).find("was made with best model kept, this run has not kept"),
            std::string::npos);
}

TEST_F(FinetuningAgain, ARepeatedCommandKeepsTheCalibration) {
  auto run = validated("run");
  finetune(run);
  Calibration fitted;
  fitted.temperature = 1.5;
  fitted.save(run.out);
  finetune(run);
  EXPECT_EQ(Calibration::load(run.out).temperature, 1.5);
  run.limits.steps = 40;
  run.keep_best = true;
  run.schedule.kind = ScheduleKind::Constant;
  run.resume = false;
  finetune(run);
  EXPECT_FALSE(fs::exists(run.out / kCalibrationFile));
}

TEST_F(FinetuningAgain, RefusesAModelInAFolderThatItReplaces) {
  const auto run = validated("run");
  finetune(run);
  for (const char* inside : {"best", "checkpoint-00000012"}) {
    auto again = run;
    again.from = run.out / inside;
    EXPECT_EQ(message_of<Error>([&] { finetune(again); }),
              again.from.string() +
                  ": is a checkpoint of the output folder, which the run replaces; copy it first, "
                  "or write to another folder");
  }
}

TEST_F(FinetuningAgain, AStopDuringTheEvaluationLeavesAModelThatTheSameCallEvaluates) {
  auto run = options("run");
  auto stopped = run;
  int calls = 0;
  stopped.stop = [&calls] { return ++calls > 12; };
  EXPECT_FALSE(finetune(stopped).training.finished());
  EXPECT_TRUE(fs::exists(run.out / kWeightsFile));
  EXPECT_FALSE(fs::exists(run.out / "evaluation.json"));
  const FinetuneSummary done = finetune(run);
  EXPECT_TRUE(done.training.finished());
  EXPECT_EQ(done.training.step, 12);
  EXPECT_TRUE(fs::exists(run.out / "evaluation.json"));
}

TEST_F(FinetuningAgain, KeepsTheSpeedThatTrainingHad) {
  const auto run = options("run");
  finetune(run);
  const Json first = read_json_file(run.out / "evaluation.json");
  EXPECT_GT(first.at("source_tokens_per_second"), 0.0);
  EXPECT_FALSE(finetune(run).to_json().contains("source_tokens_per_second"));
  EXPECT_EQ(read_json_file(run.out / "evaluation.json"), first);
  std::ofstream(run.out / "evaluation.json") << "broken";
  finetune(run);
  EXPECT_EQ(read_json_file(run.out / "evaluation.json")["evaluation"], first["evaluation"]);
}

TEST_F(FinetuningAgain, CountsTheWorkOfAllItsParts) {
  const FinetuneSummary whole = finetune(options("whole"));
  finetune(stopped_after(options("parts"), 5));
  EXPECT_EQ(finetune(options("parts")).training.flops, whole.training.flops);
}

TEST_F(FinetuningAgain, TokensEndWithTheScheduleThoughTheLastBatchOfAnEpochIsSmaller) {
  auto run = options("run");
  run.batch_rows = 20;  // 20 and 12 of 32 examples
  run.schedule.kind = ScheduleKind::Linear;
  run.limits = {.source_tokens = 10'000};
  const FinetuneSummary done = finetune(run);
  EXPECT_EQ(done.training.end, TrainingEnd::Tokens);
  double last = 1;
  std::istringstream lines(read_text_file(run.out / "metrics.jsonl"));
  for (std::string text; std::getline(lines, text);) {
    const Json line = parse_json(text, "metrics");
    if (!line.contains("learning_rate")) continue;
    last = line["learning_rate"];
    EXPECT_GT(last, 0) << text;
  }
  EXPECT_LT(last, 0.1 * run.schedule.learning_rate);
}

TEST_F(FinetuningAgain, LearnedPositionsBoundTheLengthsOfTheTask) {
  auto run = options("run");
  run.model.positions = Positions::Learned;
  run.model.max_positions = 12;
  const FinetuneSummary done = finetune(run);
  EXPECT_TRUE(done.training.finished());
  EXPECT_GT(done.rows.at("train").sources_cut, 0);
  EXPECT_EQ(read_json_file(run.out / kTaskFile)["max_source_tokens"], 12);
}

TEST_F(FinetuningAgain, BalancedLabelsHaveTheSameWeightInTheLossHoweverLongTheyAre) {
  auto run = options("run");
  run.balance_classes = true;
  TaskSplit train;
  for (const auto& [label, ids] : std::vector<std::pair<std::string, TokenIds>>{
           {"green", {5, 6, 7, 1}}, {"old", {8, 1}}, {"old", {8, 1}}, {"old", {8, 1}}}) {
    train.examples.emplace_back().target = label;
    train.sources.push_back({4, 1});
    train.targets.push_back(ids);
  }
  std::map<size_t, double> weights;  // by the label's length
  for (const Example& each : examples_of(run, train)) {
    weights[each.target.size()] += each.weight * static_cast<double>(each.target.size());
  }
  EXPECT_EQ(weights, (std::map<size_t, double>{{2, 5}, {4, 5}}));
}

}  // namespace
}  // namespace convseq
