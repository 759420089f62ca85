#include "convseq/train/pretrain.h"

#include <fstream>

#include "convseq/spec/presets.h"
#include "convseq/train/run/training_checkpoint.h"
#include "data/corpus/small_corpus.h"
#include "temp_folder.h"
#include "tensor_checks.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;
using testing::TempFolder;

namespace {

class Pretraining : public ::testing::Test {
 protected:
  void SetUp() override {
    corpus_ = testing::write_small_corpus(folder_, 2, 60);
    vocabulary_ = testing::small_tokenizer(folder_).vocabulary().size();
  }

  PretrainOptions options(const std::string& out,
                          const std::string& model = "paper-light-tiny") const {
    PretrainOptions options;
    options.out = folder_ / out;
    options.tokenizer = folder_ / "small.model";
    options.model =
        find_model_config(model, {fmt::format("vocab_size={}", vocabulary_), "d_model=32",
                                  "d_ff=64", "heads=2", "d_kv=16", "dropout=0.1"});
    options.corpus.corpora = {{.corpus = corpus_}};
    options.corpus.batch_rows = 4;
    options.corpus.room = {32, 16};
    options.schedule.warmup_steps = 2;
    options.limits.steps = 12;
    options.save_every = 4;
    options.log_every = 1;
    options.progress = false;
    return options;
  }

  // The same run, stopped after `steps` more steps.
  static PretrainOptions stopped_after(PretrainOptions options, int steps) {
    options.stop = [steps, taken = 0]() mutable { return ++taken == steps; };
    return options;
  }

  std::string weights(const fs::path& out) const {
    return read_text_file(folder_ / out / kWeightsFile);
  }

  TempFolder folder_;
  std::string corpus_;
  int64_t vocabulary_ = 0;
};

TEST_F(Pretraining, ResumedEqualsUninterruptedBitForBitWithEveryObjective) {
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    const auto run = [&, objective = kind, of = std::string(name)](const std::string& out) {
      PretrainOptions made = options(of + out);
      made.objective.kind = objective;
      return made;
    };
    EXPECT_TRUE(pretrain(run("-whole")).finished());
    EXPECT_FALSE(pretrain(stopped_after(run("-parts"), 3)).finished());
    EXPECT_FALSE(pretrain(stopped_after(run("-parts"), 4)).finished());
    EXPECT_TRUE(pretrain(run("-parts")).finished());
    EXPECT_EQ(weights(run("-parts").out), weights(run("-whole").out)) << name;
  }
}

TEST_F(Pretraining, LearnsWithEveryObjective) {
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    auto run = options(std::string(name));
    run.objective.kind = kind;
    run.limits.steps = 40;
    run.save_every = 100;
    run.validation_corpus = corpus_;
    run.validation_batches = 2;
    EXPECT_LT(pretrain(run).best_validation.value(), 5.0) << name;  // a uniform guess has 6.5
  }
}

TEST_F(Pretraining, RefusesToGoOnWithAnotherObjective) {
  for (const auto& [before, before_name] : kEnumNames<ObjectiveKind>) {
    auto run = options(fmt::format("of-{}", before_name));
    run.objective.kind = before;
    pretrain(stopped_after(run, 1));
    for (const auto& [after, after_name] : kEnumNames<ObjectiveKind>) {
      if (after == before) continue;
      run.objective.kind = after;
      EXPECT_NE(message_of<Error>([&] { pretrain(run); })
                    .find(fmt::format("was made with objective {}, this run has {}; ", before_name,
                                      after_name)),
                std::string::npos);
    }
  }
}

TEST_F(Pretraining, SentinelsAreNeededOnlyByObjectivesThatUseThem) {
  for (const auto& [kind, name] : kEnumNames<ObjectiveKind>) {
    auto run = options(fmt::format("pieces-{}", name));
    run.objective.kind = kind;
    run.limits.steps = 3;
    const Vocabulary vocabulary = Tokenizer::load(run.tokenizer).vocabulary();
    run.model.vocab_size = vocabulary.pieces();
    if (make_objective(run.objective, vocabulary)->uses_sentinels()) {
      EXPECT_NE(message_of<Error>([&] { pretrain(run); }).find("set vocab_size="),
                std::string::npos);
    } else {
      EXPECT_TRUE(pretrain(run).finished()) << name;
    }
  }
}

TEST_F(Pretraining, TakesTheCheckpointBeforeADamagedOne) {
  pretrain(options("whole"));
  pretrain(stopped_after(options("parts"), 9));
  // Damages one byte in the middle of the newest weights.
  const fs::path newest = folder_ / "parts" / "checkpoint-00000009" / kWeightsFile;
  {
    std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(fs::file_size(newest) / 2));
    file.put('\x55');
  }
  EXPECT_TRUE(pretrain(options("parts")).finished());
  EXPECT_EQ(weights("parts"), weights("whole"));
}

TEST_F(Pretraining, MicroBatchesGiveTheGradientOfTheBatch) {
  auto whole = options("whole"), parts = options("parts");
  for (auto* each : {&whole, &parts}) {
    each->model.dropout = 0;
    each->limits.steps = 3;
  }
  parts.micro_batch_rows = 3;  // 3 and 1
  pretrain(whole);
  pretrain(parts);
  const auto a = load_tensors(folder_ / "whole" / kWeightsFile).tensors,
             b = load_tensors(folder_ / "parts" / kWeightsFile).tensors;
  for (const auto& [name, tensor] : a) testing::expect_close(b.at(name), tensor, 1e-4, name);
}

TEST_F(Pretraining, LearnsWithEveryMixerInFp32AndBf16) {
  for (const std::string& family : preset_families()) {
    for (auto compute : {torch::kFloat32, torch::kBFloat16}) {
      auto run = options(fmt::format("{}-{}", family, torch::toString(compute)), family + "-tiny");
      run.compute = compute;
      run.limits.steps = 40;
      run.save_every = 100;
      run.validation_corpus = corpus_;
      run.validation_batches = 2;
      run.validate_every = 100;
      const TrainingSummary done = pretrain(run);
      EXPECT_EQ(done.skipped_steps, 0);
      // A uniform guess has a loss of log(640) = 6.5; unigram statistics alone give far less.
      EXPECT_LT(done.best_validation.value(), 5.0) << family << " " << torch::toString(compute);
    }
  }
}

TEST_F(Pretraining, WritesAModelFolderMetricsAndKeepsTheLastCheckpoints) {
  pretrain(options("run"));
  EXPECT_NO_THROW(load_model(folder_ / "run"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "checkpoint-00000012"));
  EXPECT_TRUE(fs::exists(folder_ / "run" / "checkpoint-00000008"));
  EXPECT_FALSE(fs::exists(folder_ / "run" / "checkpoint-00000004"));
  std::ifstream metrics(folder_ / "run" / "metrics.jsonl");
  int64_t lines = 0;
  for (std::string line; std::getline(metrics, line); ++lines) {
    const Json json = parse_json(line, "metrics");
    EXPECT_EQ(json["step"], lines + 1);
    EXPECT_TRUE(json["loss"].is_number());
  }
  EXPECT_EQ(lines, 12);
}

TEST_F(Pretraining, StopsWhenTheLossStaysNotFinite) {
  auto run = options("run");
  run.most_skipped_in_a_row = 3;
  run.step.z_loss = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of<Error>([&] { pretrain(run); }),
            (folder_ / "run").string() +
                ": 3 steps in a row had a loss or gradient that is not finite; stopped at step 3");
  // All steps were skipped, and the state is saved.
  const auto state = Checkpoints(folder_ / "run", 2).load_latest(run.model);
  ASSERT_TRUE(state.has_value());
  EXPECT_EQ(state->step, 3);
  EXPECT_EQ(state->skipped_steps, 3);
}

TEST_F(Pretraining, ALimitOfTokensIsReachedAtTheEndOfTheSchedule) {
  // The target length is too small for a source of 128 tokens, so sources are shorter.
  auto of_tokens = options("out");
  of_tokens.corpus.room = {128, 16};
  of_tokens.limits = {.source_tokens = 4000};
  const TrainingSummary done = pretrain(of_tokens);
  EXPECT_EQ(done.end, TrainingEnd::Tokens);
  std::istringstream lines(read_text_file(folder_ / "out" / "metrics.jsonl"));
  int64_t steps = 0;
  for (std::string line; std::getline(lines, line); ++steps) {
    EXPECT_GT(parse_json(line, "metrics")["learning_rate"], 0) << line;
  }
  EXPECT_EQ(steps, done.step);
}

TEST_F(Pretraining, RefusesWhatNoMemoryHolds) {
  auto huge = options("out");
  huge.model.d_model = 160'000;
  huge.model.d_ff = 16'000'000;
  auto wide = options("out");
  wide.corpus.batch_rows = 1'000'000'000;
  for (const PretrainOptions& each : {huge, wide}) {
    const std::string message = message_of<Error>([&] { pretrain(each); });
    EXPECT_NE(message.find(": needs about "), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(each.out));
  }
  auto small = options("out");
  small.max_memory_bytes = 1000;
  EXPECT_NE(message_of<Error>([&] { pretrain(small); }).find("needs about "), std::string::npos);
}

TEST_F(Pretraining, RefusesPatienceWithoutValidation) {
  auto patient = options("patient");
  patient.limits.patience = 3;
  EXPECT_EQ(message_of<Error>([&] { pretrain(patient); }),
            "a patience of 3 validations needs validation data");
  EXPECT_FALSE(fs::exists(patient.out));
}

TEST_F(Pretraining, RefusesOtherValidationDataHalfway) {
  auto run = options("out");
  run.validation_corpus = corpus_;
  run.validate_every = 2;
  pretrain(stopped_after(run, 5));
  auto other = run;
  other.validation_corpus = folder_.file("other.txt", testing::small_document(1) + "\n").string();
  const std::string message = message_of<Error>([&] { pretrain(other); });
  EXPECT_NE(message.find("was made with validation data "), std::string::npos) << message;
  EXPECT_TRUE(pretrain(run).finished());
}

TEST_F(Pretraining, RefusesSequencesLongerThanTheLearnedPositions) {
  auto run = options("out");
  run.model.positions = Positions::Learned;
  run.model.max_positions = 20;
  const std::string message = message_of<Error>([&] { pretrain(run); });
  EXPECT_NE(message.find("are longer than max_positions 20; set max_positions="), std::string::npos)
      << message;
  EXPECT_FALSE(fs::exists(run.out));
}

TEST(RunFolder, NeedsRoomOnlyForTheCheckpointsThatAreNotThereYet) {
  TempFolder folder;
  const RunFolder run(folder / "out");
  const auto free = static_cast<double>(fs::space(folder.path()).available);
  const auto parameters = static_cast<int64_t>(free / 12 / 2);  // one fits, three do not
  EXPECT_NO_THROW(run.check_room(parameters, 2, 2));
  const std::string message = message_of<Error>([&] { run.check_room(parameters, 2, 0); });
  EXPECT_NE(message.find(": 3 more checkpoints of this model need "), std::string::npos) << message;
}

TEST_F(Pretraining, RefusesWhatDoesNotFitBeforeAnyWork) {
  auto vocabulary = options("a");
  vocabulary.model.vocab_size = 1000;
  EXPECT_EQ(
      message_of<Error>([&] { pretrain(vocabulary); }),
      fmt::format("{}: the tokenizer has {} ids, the model's vocab_size is 1000; set vocab_size={}",
                  vocabulary.tokenizer.string(), vocabulary_, vocabulary_));
  auto nowhere = options("c");
  nowhere.corpus.corpora = {{.corpus = (folder_ / "nowhere").string()}};
  EXPECT_EQ(message_of<Error>([&] { pretrain(nowhere); }),
            (folder_ / "nowhere").string() + ": no such file");
  EXPECT_FALSE(fs::exists(folder_ / "c"));
  pretrain(stopped_after(options("b"), 1));
  auto other = options("b");
  other.model.d_ff = 32;
  EXPECT_EQ(message_of<Error>([&] { pretrain(other); }),
            (folder_ / "b" / "checkpoint-00000001").string() +
                ": is a checkpoint of another model; choose another folder, the same config, or "
                "resume=false "
                "to start over");
}

}  // namespace
}  // namespace convseq
