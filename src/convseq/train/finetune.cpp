#include "convseq/train/finetune.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "convseq/answer/predictions.h"
#include "convseq/base/counted.h"
#include "convseq/base/log.h"
#include "convseq/base/memory.h"
#include "convseq/data/example_prefetcher.h"
#include "convseq/data/task/task_labels.h"
#include "convseq/infer/torch_engine.h"
#include "convseq/train/finetune/check_finetune.h"
#include "convseq/train/finetune/finetune_examples.h"
#include "convseq/train/finetune/finetune_identity.h"
#include "convseq/train/finetune/finetune_splits.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

ExampleStream stream_of(const FinetuneOptions& options, std::vector<Example> examples,
                        const Json& cursor, const Communicator& communicator) {
  return {std::move(examples),
          {.plan = {.tokens = int64_t{1} << 40,  // batches are limited by rows alone
                    .max_rows = options.batch_rows,
                    .seed = options.seed},
           .rank = {.index = communicator.rank(), .count = communicator.size()}},
          cursor.is_null() ? ExampleCursor{} : ExampleCursor::from_json({cursor, "cursor"})};
}

class TaskLesson : public Lesson {
 public:
  TaskLesson(const FinetuneOptions& options, const Tokenizer& tokenizer, ExampleStream stream,
             const std::optional<ShapeLadderOptions>& ladder, const TaskSplit& validation,
             Communicator& communicator, Engine& engine)
      : options_(options),
        tokenizer_(tokenizer),
        engine_(engine),
        validation_(validation),
        communicator_(communicator),
        batches_(std::move(stream), {.ladder = ladder}) {}

  std::string name() const override { return "finetune"; }

  TrainingBatch next() override {
    ExampleBatch batch = batches_.next();
    return {std::move(batch.batch), batch.after.to_json()};
  }
  const ShapeLadder& ladder() const { return batches_.ladder(); }

  bool can_validate() const override { return !validation_.examples.empty(); }

  // The first process evaluates and broadcasts the score.
  Validation validate(Seq2Seq&) override {
    Validation result;
    const auto score = torch::zeros({1}, torch::kFloat64).to(options_.device);
    if (communicator_.rank() == 0) {
      result = judged();
      score.fill_(result.score);
    }
    communicator_.broadcast(score, 0);
    result.score = score.item<double>();
    result.higher_is_better = higher_is_better(options_.task.metrics.front());
    return result;
  }

 private:
  Validation judged() {
    TaskAnswerer answerer(engine_, tokenizer_, options_.task,
                          usual_answer(engine_.config(), options_.task));
    const Report report =
        evaluate_task(answerer, validation_,
                      {.batches = options_.batches, .bootstrap = {.resamples = 0}})
            .report;
    Validation result{.score = report.scores.front().value};
    for (const Score& score : report.scores) {
      result.values.push_back({std::string(name_of(score.metric)), score.value});
    }
    result.values.push_back({"collapsed", report.collapse ? 1.0 : 0.0});
    // A model may stay collapsed for many validations; only the first one warns.
    if (report.collapse && !collapsed_) log::warning("{}", report.collapse->message());
    collapsed_ = report.collapse.has_value();
    return result;
  }

  const FinetuneOptions& options_;
  const Tokenizer& tokenizer_;
  Engine& engine_;  // runs the model being trained
  const TaskSplit& validation_;
  Communicator& communicator_;
  ExamplePrefetcher batches_;
  bool collapsed_ = false;  // at the last validation
};

ModelConfig config_of(const FinetuneOptions& options) {
  ModelConfig config = options.model;
  if (options.form == AnswerForm::Pooled) {
    config.classes = std::ssize(options.task.labels);
    config.labels = options.task.labels;
    config.label_kind = options.task.label_kind;
    config.decoder_layers = 0;
  }
  return config;
}

std::shared_ptr<Seq2Seq> first_model(const FinetuneOptions& options) {
  auto model = std::make_shared<Seq2Seq>(config_of(options));
  model->initialise(options.seed);
  if (!options.from.empty()) {
    const fs::path weights = options.from / kWeightsFile;
    load_shared_parameters(*model, load_weights(weights), weights.string());
  }
  if (options.freeze_encoder) model->freeze_encoder();
  return model;
}

// If the task lists no labels, the classes of a pooled head are the labels that occur in the
// training data.
FinetuneOptions with_labels(FinetuneOptions options) {
  Task& task = options.task;
  if (options.form == AnswerForm::Pooled && task.labels.empty()) {
    const std::string train = training_split(task);
    for (const fs::path& file : task.files_of(train)) {
      require(file != "-", "standard input is read once: name the labels with {}",
              OptionName("labels"));
    }
    task.labels = labels_in(task, train, options.reader);
  }
  return options;
}

// Uses the longest source and the longest target, since one batch may hold both.
TrainingShape shape_of(const FinetuneOptions& options, const std::vector<Example>& examples,
                       const Communicator& communicator) {
  TrainingShape shape = training_shape(options, options.batch_rows / communicator.size());
  shape.source = shape.target = 1;
  for (const Example& example : examples) {
    shape.source = std::max(shape.source, std::ssize(example.source));
    shape.target = std::max(shape.target, std::ssize(example.target));
  }
  return shape;
}

// Converts epochs to steps. By default, validates once per epoch, but at least every 1000 steps.
FinetuneOptions with_limits(FinetuneOptions options, const TaskSplit& train) {
  const auto rows = static_cast<double>(train.sources.size());
  const auto batch_rows = static_cast<double>(options.batch_rows);
  const double batches = std::ceil(rows / batch_rows);
  TrainingLimits& limits = options.limits;
  if (limits.steps == 0 && limits.source_tokens == 0 && limits.minutes == 0) {
    limits.steps = std::max<int64_t>(1, std::llround(options.epochs * batches));
    if (options.max_steps > 0) limits.steps = std::min(limits.steps, options.max_steps);
  }
  if (limits.steps == 0 && limits.source_tokens > 0 && options.schedule.total_steps == 0) {
    // Expected, since sources vary in length: for the learning rate to run towards it. The last
    // batch of an epoch may be a part of one.
    double tokens = 0;
    for (const TokenIds& source : train.sources) tokens += static_cast<double>(source.size());
    options.schedule.total_steps = std::max<int64_t>(
        1, std::llround(static_cast<double>(limits.source_tokens) * batches / tokens));
  }
  if (options.validate_every == 0) {
    options.validate_every = std::min<int64_t>(1000, static_cast<int64_t>(batches));
  }
  // Without matmul tuning, captured steps give the same results as launched ones, in every run.
  options.step.capture = {.max_graphs = options.shapes.max_shapes, .tune_matmuls = false};
  options.step.pooled = options.form == AnswerForm::Pooled;
  return options;
}

// A run on disk may be stopped after each batch: the same call evaluates it again.
LengthBatchOptions evaluation_batches(const FinetuneOptions& options) {
  LengthBatchOptions batches = options.batches;
  if (!options.in_memory) {
    batches.on_batch = [&options](size_t) {
      if (options.stop()) throw Stopped("evaluation");
    };
  }
  return batches;
}

void evaluate_splits(const FinetuneOptions& options, Engine& engine, const Tokenizer& tokenizer,
                     const TaskSplit& validation, FinetuneSummary& summary) {
  TaskAnswerer answerer(engine, tokenizer, options.task,
                        usual_answer(engine.config(), options.task));
  const auto answer = [&](const std::string& name, const TaskSplit& split) {
    if (split.examples.empty()) return;
    TaskEvaluation evaluation =
        evaluate_task(answerer, split,
                      {.batches = evaluation_batches(options),
                       .bootstrap = options.bootstrap,
                       .metrics = all_metrics(options.task, answerer.by())});
    options.on_evaluation(name, evaluation);
    if (!options.in_memory) {
      OutputFile predictions(options.out / fmt::format("predictions-{}.jsonl", name));
      write_predictions(predictions, split, evaluation);
      predictions.commit();
    }
    const Report& report = summary.reports[name] = std::move(evaluation.report);
    if (report.collapse) log::warning("{}: {}", name, report.collapse->message());
  };
  for (const std::string& name : options.evaluate) {
    if (name == "validation") {
      answer(name, validation);
    } else if (options.task.has_split(name)) {
      const TaskSplit split =
          options.read(options.task, name, tokenizer, {.reader = options.reader, .limit = 0});
      summary.rows[name] = split.totals;
      answer(name, split);
    }
  }
}

// Called again, a finished run is evaluated again: what its training measured stays in the file.
void write_evaluation(const std::filesystem::path& file, const FinetuneSummary& summary) {
  Json json = summary.to_json();
  if (summary.training.pace.source_tokens == 0 && std::filesystem::exists(file)) {
    try {
      Json known = read_json_file(file);
      known.update(json);
      json = std::move(known);
    } catch (const std::exception&) {  // a broken file is replaced
    }
  }
  write_json_file(file, json);
}

}  // namespace

Json FinetuneSummary::to_json() const {
  Json json = training.to_json();
  for (const auto& [split, totals] : rows) json["rows"][split] = totals.to_json();
  for (const auto& [split, report] : reports) json["evaluation"][split] = convseq::to_json(report);
  return json;
}

FinetuneSummary finetune(const FinetuneOptions& given, Communicator& communicator) {
  const Tokenizer tokenizer = Tokenizer::load(given.tokenizer);
  FinetuneOptions options = with_labels(given);
  fit_to_positions(options.task, options.model);
  check_options(options, tokenizer, communicator.size());
  FinetuneSplits splits = read_splits(options, tokenizer);
  options = with_limits(options, splits.train);
  FinetuneSummary summary;
  summary.rows["train"] = splits.train.totals;
  if (!splits.validation.examples.empty()) summary.rows["validation"] = splits.validation.totals;
  if (options.is_multi_label())
    options.step.positive_weights = positive_weights(options, splits.train);
  auto examples = examples_of(options, std::move(splits.train));
  require_training_memory(options, config_of(options), shape_of(options, examples, communicator));
  const auto model = first_model(options);
  TrainingRun run(options, model,
                  {.tokenizer_from = options.tokenizer, .task = options.task.to_json()},
                  communicator.rank() == 0 && !options.in_memory
                      ? identity_of(options, tokenizer, examples, splits.validation)
                      : RunIdentity{},
                  communicator);
  TorchEngine engine(*model);  // shared by all validations
  // Captured steps want few shapes; others take the batches as they are.
  const auto ladder = run.captures_steps() ? std::optional(options.shapes) : std::nullopt;
  TaskLesson lesson(options, tokenizer,
                    stream_of(options, std::move(examples), run.cursor(), communicator), ladder,
                    splits.validation, communicator, engine);
  summary.training = run.go(lesson);
  if (const CaptureTotals& captures = summary.training.captures; captures.captures > 0) {
    log::info("{} captured in {:.2g} s, {} of GPU memory; padding to them adds {:.1f}%",
              counted(captures.captures, "shape"), captures.seconds,
              short_bytes(static_cast<double>(captures.bytes)),
              100 * lesson.ladder().padding_share());
  }
  if (!summary.training.finished()) return summary;
  run.write_best();
  if (communicator.rank() == 0) {
    try {
      evaluate_splits(options, engine, tokenizer, splits.validation, summary);
      if (!options.in_memory) write_evaluation(options.out / "evaluation.json", summary);
    } catch (const Stopped&) {  // by a batch, or by the reader of a split
      summary.training.end = TrainingEnd::Stopped;
    }
  }
  communicator.barrier();
  return summary;
}

FinetuneSummary finetune(const FinetuneOptions& options) {
  const auto alone = make_single_communicator();
  return finetune(options, *alone);
}

}  // namespace convseq
