#include <fstream>

#include "convseq/train/run/training_checkpoint.h"
#include "train/finetuning.h"

namespace convseq {
namespace fs = std::filesystem;
using testing::message_of;

namespace {

using testing::Finetuning;

TEST_F(Finetuning, EveryMixerLearns32ExamplesByHeart) {
  for (const std::string& family : preset_families()) {
    auto run = options(family, family);
    run.limits.steps = 300;
    run.save_every = run.validate_every = 300;
    run.batch_rows = 32;
    const FinetuneSummary done = finetune(run);
    EXPECT_LT(done.training.loss, 1e-3) << family;
    EXPECT_EQ(done.reports.at("validation").scores[0].value, 1.0) << family;
  }
}

TEST_F(Finetuning, AHeadWithSigmoidsLearnsAnyNumberOfLabelsPerExample) {
  auto run = options("sets");
  run.task = label_sets_task();
  run.form = AnswerForm::Pooled;
  run.limits.steps = 300;
  run.batch_rows = 32;
  const FinetuneSummary done = finetune(run);
  EXPECT_LT(done.training.loss, 1e-2);
  const Report& report = done.reports.at("validation");
  EXPECT_EQ(report.scores[0].metric, Metric::MicroF1);
  EXPECT_EQ(report.scores[0].value, 1.0);
  EXPECT_EQ(report.scores[1].value, 1.0);
  ASSERT_EQ(report.classes.size(), 3u);
  EXPECT_GT(report.classes[0].support + report.classes[1].support + report.classes[2].support, 32);
  const auto model = load_model(folder_ / "sets");
  EXPECT_EQ(model->config().label_kind, LabelKind::Multi);
  EXPECT_EQ(model->config().labels, run.task.labels);
  std::ifstream predictions(folder_ / "sets" / "predictions-validation.jsonl");
  std::string line;
  std::getline(predictions, line);
  const Json first = parse_json(line);
  EXPECT_EQ(first["prediction"], first["answers"]);
  EXPECT_TRUE(first["answers"].is_array());
  EXPECT_EQ(first["probabilities"].size(), 3u);
}

TEST_F(Finetuning, LabelSetsWithBalancedWeightsResumeBitForBit) {
  const auto make = [&](const std::string& out) {
    auto run = options(out);
    run.task = label_sets_task();
    run.form = AnswerForm::Pooled;
    run.balance_classes = true;
    return run;
  };
  EXPECT_TRUE(finetune(make("whole")).training.finished());
  EXPECT_FALSE(finetune(stopped_after(make("parts"), 7)).training.finished());
  EXPECT_TRUE(finetune(make("parts")).training.finished());
  for (const char* file : {kWeightsFile, "predictions-validation.jsonl"}) {
    EXPECT_EQ(read_text_file(folder_ / "parts" / file), read_text_file(folder_ / "whole" / file));
  }
}

TEST_F(Finetuning, LabelSetsNeedAHead) {
  auto run = options("text");
  run.task = label_sets_task();
  EXPECT_EQ(message_of<Error>([&] { finetune(run); }),
            "kinds: is a multi-label task, which needs a head with a sigmoid per label; use "
            "form=pooled");
}

TEST_F(Finetuning, APooledHeadLearnsThemWithoutADecoder) {
  auto run = options("pooled");
  run.form = AnswerForm::Pooled;
  run.limits.steps = 300;
  run.batch_rows = 32;
  const FinetuneSummary done = finetune(run);
  EXPECT_LT(done.training.loss, 1e-2);
  EXPECT_EQ(done.reports.at("validation").scores[0].value, 1.0);
  const auto model = load_model(folder_ / "pooled");
  EXPECT_EQ(model->config().decoder_layers, 0);
  EXPECT_EQ(model->config().labels, run.task.labels);
}

// T5 vocabularies are padded to different sizes, some without room for the sentinels.
TEST_F(Finetuning, AnyVocabularyThatHoldsThePiecesWillDo) {
  const int64_t pieces = testing::small_tokenizer(folder_).vocabulary().pieces();
  for (const int64_t size : {pieces, pieces + 3, vocabulary_ + 100}) {
    auto run = options(fmt::format("rows-{}", size));
    run.model.vocab_size = size;
    EXPECT_TRUE(finetune(run).reports.contains("validation")) << size;
    EXPECT_EQ(load_model(run.out)->config().vocab_size, size);
  }
  auto run = options("too-few");
  run.model.vocab_size = pieces - 1;
  EXPECT_NE(message_of<Error>([&] {
              finetune(run);
            }).find(fmt::format("the tokenizer has {} pieces", pieces)),
            std::string::npos);
}

TEST_F(Finetuning, AFrozenEncoderStaysAsItWas) {
  finetune(options("first"));
  auto run = options("second");
  run.from = folder_ / "first";
  run.freeze_encoder = true;
  run.model.dropout = 0.1;
  finetune(run);
  const TensorMap before = weights("first"), after = weights("second");
  for (const auto& [name, tensor] : before) {
    const bool frozen = name.starts_with("encoder.") || name == "embedding.weight";
    EXPECT_EQ(torch::equal(tensor, after.at(name)), frozen) << name;
  }
}

TEST_F(Finetuning, ResumedEqualsUninterruptedBitForBit) {
  for (const AnswerForm form : {AnswerForm::Text, AnswerForm::Pooled}) {
    const std::string name(name_of(form));
    auto whole = options("whole-" + name), parts = options("parts-" + name);
    for (auto* each : {&whole, &parts}) {
      each->form = form;
      each->model.dropout = 0.1;
      each->validate_every = 3;
    }
    EXPECT_TRUE(finetune(whole).training.finished());
    EXPECT_FALSE(finetune(stopped_after(parts, 5)).training.finished());
    EXPECT_FALSE(finetune(stopped_after(parts, 4)).training.finished());
    EXPECT_TRUE(finetune(parts).training.finished());
    EXPECT_EQ(read_text_file(parts.out / kWeightsFile), read_text_file(whole.out / kWeightsFile));
    EXPECT_EQ(read_text_file(parts.out / "predictions-validation.jsonl"),
              read_text_file(whole.out / "predictions-validation.jsonl"));
  }
}

class GpuFinetuning : public Finetuning {
 protected:
  void SetUp() override {
    ASSERT_TRUE(torch::cuda::is_available()) << "this test needs a GPU";
    Finetuning::SetUp();
  }
};

// A resumed run launches steps that the uninterrupted run replays.
TEST_F(GpuFinetuning, ResumedEqualsUninterruptedBitForBit) {
  for (const char* family : {"paper-light", "paper-transformer"}) {
    auto whole = options(fmt::format("whole-{}", family), family);
    auto parts = options(fmt::format("parts-{}", family), family);
    for (auto* each : {&whole, &parts}) {
      each->device = torch::kCUDA;
      each->compute = torch::kBFloat16;
      each->model.d_kv = 64;
      each->limits.steps = 24;
      each->validate_every = 7;
    }
    const TrainingSummary done = finetune(whole).training;
    EXPECT_TRUE(done.finished());
    EXPECT_GT(done.captures.replayed, 12);
    EXPECT_FALSE(finetune(stopped_after(parts, 9)).training.finished());
    EXPECT_FALSE(finetune(stopped_after(parts, 4)).training.finished());
    EXPECT_TRUE(finetune(parts).training.finished());
    EXPECT_EQ(read_text_file(parts.out / kWeightsFile), read_text_file(whole.out / kWeightsFile));
  }
}

TEST_F(GpuFinetuning, InMemoryHasTheScoresOfTheRunOnDisk) {
  auto run = options("on-disk");
  run.task = task(32, {"train", "validation", "test"});
  run.device = torch::kCUDA;
  run.compute = torch::kBFloat16;
  run.model.d_kv = 64;
  run.limits.steps = 24;
  run.validate_every = 4;
  const FinetuneSummary on_disk = finetune(run);
  run.in_memory = true;
  run.out = folder_ / "in-memory";
  const FinetuneSummary in_memory = finetune(run);
  EXPECT_EQ(to_json(in_memory.reports.at("test")), to_json(on_disk.reports.at("test")));
  EXPECT_EQ(in_memory.training.best_validation, on_disk.training.best_validation);
}

TEST_F(Finetuning, KeepsTheBestValidationAndStopsWhenItGetsNoBetter) {
  auto run = options("run");
  run.validate_every = 1;
  run.limits = {.steps = 1000, .patience = 4};
  const FinetuneSummary done = finetune(run);
  EXPECT_EQ(done.training.end, TrainingEnd::Patience);
  EXPECT_LT(done.training.step, 1000);
  EXPECT_EQ(done.reports.at("validation").scores[0].value, done.training.best_validation);
  EXPECT_EQ(read_text_file(run.out / kWeightsFile),
            read_text_file(run.out / "best" / kWeightsFile));
  // A finished run has nothing left to do and returns the same summary.
  EXPECT_EQ(finetune(run).training.step, done.training.step);
}

TEST_F(Finetuning, InMemoryHasTheScoresOfTheBestModelAndWritesNothing) {
  auto run = options("on-disk");
  run.task = task(32, {"train", "validation", "test"});
  run.validate_every = 2;
  const FinetuneSummary on_disk = finetune(run);
  run.out = folder_ / "in-memory";
  run.in_memory = true;
  std::vector<double> validations;
  run.on_validation = [&](int64_t, double score) { validations.push_back(score); };
  size_t outcomes = 0;
  run.on_evaluation = [&](const std::string&, const TaskEvaluation& evaluation) {
    outcomes += evaluation.outcomes.size();
  };
  const FinetuneSummary in_memory = finetune(run);
  EXPECT_EQ(validations.size(), 6u);
  EXPECT_EQ(outcomes, 64u);
  EXPECT_EQ(to_json(in_memory.reports.at("test")), to_json(on_disk.reports.at("test")));
  EXPECT_EQ(in_memory.training.loss, on_disk.training.loss);
  EXPECT_FALSE(fs::exists(run.out));
}

TEST_F(Finetuning, AMaximumOfStepsShortensTheEpochs) {
  auto run = options("short");
  run.in_memory = true;
  run.schedule.warmup_steps = 0;
  run.limits.steps = 0;
  run.epochs = 4;  // of two steps
  run.max_steps = 3;
  EXPECT_EQ(finetune(run).training.step, 3);
  run.max_steps = 100;
  EXPECT_EQ(finetune(run).training.step, 8);
}

TEST_F(Finetuning, HoldsExamplesOutWhereATaskHasNoValidation) {
  auto run = options("run");
  run.task = task(60, {"train"});
  run.held_out = 0.3;
  const int64_t held = finetune(run).reports.at("validation").scores[0].count;
  EXPECT_GT(held, 8);
  EXPECT_LT(held, 30);
  std::ifstream predictions(folder_ / "run" / "predictions-validation.jsonl");
  int64_t lines = 0;
  for (std::string line; std::getline(predictions, line); ++lines) {
    EXPECT_TRUE(parse_json(line, "predictions").contains("prediction"));
  }
  EXPECT_EQ(lines, held);
}

TEST_F(Finetuning, LimitsWhatIsHeldOutAndRefusesToHoldOutNothing) {
  auto limited = options("limited");
  limited.task = task(64, {"train"});
  limited.held_out = 0.5;
  limited.validation_limit = 5;
  const FinetuneSummary summary = finetune(limited);
  EXPECT_EQ(summary.reports.at("validation").scores.front().count, 5);
  EXPECT_EQ(summary.rows.at("validation").rows, 5);

  auto one = options("one");
  one.task = task(64, {"train"});
  one.train_limit = 1;
  const std::string message = message_of<Error>([&] { finetune(one); });
  EXPECT_EQ(message,
            "colours: 1 example is too few to hold out a share of 0.1 for validation; use "
            "held_out=0, or give files with validation");
  one.held_out = 0;
  EXPECT_TRUE(finetune(one).training.finished());
  EXPECT_TRUE(finetune(one).reports.empty());
}

TEST_F(Finetuning, NeverTrainsOnValidationOrTestData) {
  auto table = options("table");
  task(40, {"all"});  // a table of 40 rows, and a validation split of 16 rows
  table.task = task(16, {"validation"});
  table.task.files.emplace_back("all", std::vector<fs::path>{"all.jsonl"});
  const FinetuneSummary done = finetune(table);
  EXPECT_EQ(done.rows.at("train").rows, 40);
  EXPECT_EQ(done.rows.at("validation").rows, 16);

  for (const auto& splits :
       std::vector<std::vector<std::string>>{{"test", "validation"}, {"test"}}) {
    auto none = options("none");
    none.task = task(16, splits);
    EXPECT_EQ(message_of<Error>([&] { finetune(none); }),
              "colours: has no training data; name files with train");
  }
}

TEST_F(Finetuning, RefusesToWriteAnswersWithoutADecoder) {
  auto pooled = options("pooled");
  pooled.form = AnswerForm::Pooled;
  finetune(pooled);
  auto text = options("text");
  text.from = folder_ / "pooled";
  text.model = find_model_config(text.from.string(), {});
  EXPECT_EQ(message_of<Error>([&] { finetune(text); }),
            text.from.string() + ": has no decoder to write answers with; use form=pooled");
}

TEST_F(Finetuning, TotalsWhatWasCutAndSkipped) {
  auto cut = options("cut");
  cut.task.max_source_tokens = 8;
  BadLines bad_lines(OnBadLine::Skip);
  cut.reader.lines.bad_lines = &bad_lines;
  std::ofstream(folder_ / "train.jsonl", std::ios::app) << "{\"text\": \"x\", \"label\": null}\n";
  const FinetuneSummary summary = finetune(cut);
  EXPECT_EQ(summary.rows.at("train").rows, 32);
  EXPECT_EQ(summary.rows.at("train").skipped, 1);
  EXPECT_EQ(summary.rows.at("train").sources_cut, 32);
  EXPECT_EQ(read_json_file(cut.out / "evaluation.json")["rows"]["train"]["skipped"], 1);
}

TEST_F(Finetuning, FindsTheLabelsOfAPooledHeadInTheDataAndRemembersThem) {
  auto pooled = options("pooled");
  pooled.form = AnswerForm::Pooled;
  pooled.task.labels = {};
  EXPECT_TRUE(finetune(pooled).training.finished());
  EXPECT_EQ(read_json_file(pooled.out / kTaskFile)["labels"], Json({"green", "old"}));
}

// A model that cannot yet distinguish the examples always answers with the label of the larger
// weight. This is a collapse, and the log reports it.
TEST_F(Finetuning, WeightsOfClassesMoveTheAnswersAndACollapseIsNamedInTheLog) {
  for (const auto& [label, other] : {std::pair("green", "old"), std::pair("old", "green")}) {
    auto run = options(fmt::format("to-{}", label));
    run.class_weights = {{label, 50.0}, {other, 0.02}};
    run.limits.steps = 30;
    run.validate_every = 30;
    ::testing::internal::CaptureStderr();
    const Report report = finetune(run).reports.at("validation");
    const std::string log = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(report.collapse.has_value());
    EXPECT_EQ(report.collapse->answer, label);
    EXPECT_NE(log.find(fmt::format("collapsed: the one answer \"{}\"", label)), std::string::npos);
    EXPECT_NE(read_text_file(run.out / "metrics.jsonl").find("\"validation_collapsed\":1"),
              std::string::npos);
  }
}

TEST_F(Finetuning, BeginsFromAPretrainedFolderWithAnyHead) {
  auto first = options("first");
  first.limits.steps = 1;
  first.schedule.warmup_steps = 0;
  finetune(first);
  auto pooled = options("pooled");
  pooled.from = folder_ / "first";
  pooled.form = AnswerForm::Pooled;
  pooled.limits.steps = 1;
  pooled.schedule.warmup_steps = 0;
  finetune(pooled);
  auto back = options("back");
  back.from = folder_ / "pooled";
  EXPECT_EQ(message_of<Error>([&] { finetune(back); }),
            (folder_ / "pooled" / kWeightsFile).string() +
                ": tensor decoder.blocks.0.cross.key.weight is missing");
}

TEST_F(Finetuning, RefusesWhatDoesNotFitBeforeAnyWork) {
  auto weights = options("a");
  weights.class_weights = {{"blue", 2.0}};
  EXPECT_EQ(message_of<Error>([&] { finetune(weights); }),
            "class_weights blue=2: blue is not a label of colours; its labels: green, old");
  auto pooled = options("b");
  pooled.form = AnswerForm::Pooled;
  pooled.task.labels = {"old"};
  EXPECT_EQ(message_of<Error>([&] { finetune(pooled); }),
            "colours: a pooled head needs a list of at least two labels");
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  finetune(stopped_after(options("c"), 1));
  auto other = options("c");
  other.task = task(31);
  EXPECT_NE(message_of<Error>([&] { finetune(other); }).find("was made with examples 32"),
            std::string::npos);
  other = options("c");
  other.task.source = TextTemplate("colour: " + other.task.source.pattern());
  EXPECT_NE(message_of<Error>([&] { finetune(other); }).find("was made with source template "),
            std::string::npos);
}

}  // namespace
}  // namespace convseq
