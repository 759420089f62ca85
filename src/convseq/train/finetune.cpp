#include "convseq/train/finetune.h"

#include <fmt/ranges.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "convseq/answer/predictions.h"
#include "convseq/base/checksum.h"
#include "convseq/base/counted.h"
#include "convseq/base/file/mapped_file.h"
#include "convseq/base/log.h"
#include "convseq/base/memory.h"
#include "convseq/base/random.h"
#include "convseq/data/example_prefetcher.h"
#include "convseq/data/random_use.h"
#include "convseq/data/task/task_labels.h"
#include "convseq/infer/torch_engine.h"
#include "convseq/spec/vocabulary_check.h"
#include "convseq/train/finetune_examples.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

bool is_multi(const FinetuneOptions& options) {
  return options.task.label_kind == LabelKind::Multi;
}

struct Splits {
  TaskSplit train;
  TaskSplit validation;
};

void move_example(TaskSplit& from, size_t i, TaskSplit& to) {
  to.examples.push_back(std::move(from.examples[i]));
  to.sources.push_back(std::move(from.sources[i]));
  to.targets.push_back(std::move(from.targets[i]));
}

// Which examples are held out depends only on the seed.
Splits hold_out(TaskSplit all, double share, uint64_t seed) {
  Splits splits;
  splits.train.totals = all.totals;
  for (size_t i = 0; i < all.examples.size(); ++i) {
    const bool held = Random(seed, {kHeldOut, i}).uniform() < share;
    move_example(all, i, held ? splits.validation : splits.train);
  }
  splits.train.totals.rows = std::ssize(splits.train.examples);
  splits.validation.totals.rows = std::ssize(splits.validation.examples);
  return splits;
}

void keep_first(TaskSplit& split, int64_t limit) {
  if (limit == 0 || std::ssize(split.examples) <= limit) return;
  split.examples.resize(static_cast<size_t>(limit));
  split.sources.resize(static_cast<size_t>(limit));
  split.targets.resize(static_cast<size_t>(limit));
  split.totals.rows = limit;
}

// A single table is the split "all". Validation and test data are never used for training.
std::string training_split(const Task& task) {
  for (const char* split : {"train", "all"}) {
    if (task.has_split(split)) return split;
  }
  const std::string& first = task.files.front().first;
  require(task.files.size() == 1 && first != "validation" && first != "test",
          "{}: has no training data; name files with {}", task.name, OptionName("train"));
  return first;
}

Splits read_splits(const FinetuneOptions& options, const Tokenizer& tokenizer) {
  const Task& task = options.task;
  const std::string train = training_split(task);
  const auto read = [&](const std::string& split, int64_t limit) {
    return options.read(task, split, tokenizer, {.reader = options.reader, .limit = limit});
  };
  if (task.has_split("validation")) {
    return {read(train, options.train_limit), read("validation", options.validation_limit)};
  }
  TaskSplit all = read(train, options.train_limit);
  const auto examples = all.examples.size();
  if (options.held_out == 0) return {std::move(all), {}};
  Splits splits = hold_out(std::move(all), options.held_out, options.seed);
  require(
      !splits.train.examples.empty() && !splits.validation.examples.empty(),
      "{}: {} example{} too few to hold out a share of {} for validation; use {}, or give files "
      "with {}",
      task.name, examples, examples == 1 ? " is" : "s are", options.held_out,
      OptionName("held_out", 0), OptionName("validation"));
  log::info("{}: {} of {} examples are held out for validation", task.name,
            splits.validation.examples.size(), examples);
  keep_first(splits.validation, options.validation_limit);
  return splits;
}

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

void check(const FinetuneOptions& options, const Tokenizer& tokenizer, int processes) {
  check_vocabulary(options.model, tokenizer.vocabulary(), options.tokenizer.string());
  if (!options.from.empty() && options.tokenizer != options.from &&
      fs::exists(options.from / "spiece.model")) {
    require(Tokenizer::load(options.from).fingerprint() == tokenizer.fingerprint(),
            "{}: is another tokenizer than the one {} was trained with", options.tokenizer.string(),
            options.from.string());
  }
  require(options.form == AnswerForm::Pooled || options.model.decoder_layers > 0,
          "{}: has no decoder to write answers with; use {}", options.from.string(),
          OptionName("form", name_of(AnswerForm::Pooled)));
  if (options.form == AnswerForm::Text) require_labels_fit(options.task, tokenizer);
  require(options.form == AnswerForm::Pooled || !is_multi(options),
          "{}: is a multi-label task, which needs a head with a sigmoid per label; use {}",
          options.task.name, OptionName("form", name_of(AnswerForm::Pooled)));
  require(options.form == AnswerForm::Text || options.task.labels.size() >= 2 ||
              (is_multi(options) && !options.task.labels.empty()),
          "{}: a pooled head needs a list of at least two labels", options.task.name);
  for (const Metric metric : options.task.metrics) {
    require(!needs_probabilities(metric) || !options.task.labels.empty(),
            "{}: the metric {} needs a list of labels; name them with {}", options.task.name,
            name_of(metric), OptionName("labels"));
  }
  require(options.held_out >= 0 && options.held_out < 1,
          "the share to hold out is {}; allowed: 0 to below 1", options.held_out);
  for (const auto& [label, weight] : options.class_weights) {
    require(class_of(options.task, label) < std::ssize(options.task.labels),
            "{} {}={}: {} is not a label of {}; its labels: {}", OptionName("class_weights"), label,
            weight, label, options.task.name,
            options.task.labels.empty() ? "none"
                                        : fmt::format("{}", fmt::join(options.task.labels, ", ")));
    require(weight > 0, "{} {}={}: must be more than 0", OptionName("class_weights"), label,
            weight);
  }
  check_batch(options.batch_rows, processes);
  std::error_code error;
  require(options.from.empty() || !fs::equivalent(options.out, options.from, error) || error,
          "{}: is the model to start from; write to another folder", options.out.string());
}

// If the task lists no labels, the classes of a pooled head are the labels that occur in the
// training data.
FinetuneOptions with_labels(FinetuneOptions options) {
  Task& task = options.task;
  if (options.form == AnswerForm::Pooled && task.labels.empty()) {
    const std::string train = training_split(task);
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
FinetuneOptions with_limits(FinetuneOptions options, size_t examples) {
  const double batches =
      std::ceil(static_cast<double>(examples) / static_cast<double>(options.batch_rows));
  TrainingLimits& limits = options.limits;
  if (limits.steps == 0 && limits.source_tokens == 0 && limits.minutes == 0) {
    limits.steps = std::max<int64_t>(1, std::llround(options.epochs * batches));
    if (options.max_steps > 0) limits.steps = std::min(limits.steps, options.max_steps);
  }
  if (options.validate_every == 0) {
    options.validate_every = std::min<int64_t>(1000, static_cast<int64_t>(batches));
  }
  // Without matmul tuning, captured steps give the same results as launched ones, in every run.
  options.step.capture = {.max_graphs = options.shapes.max_shapes, .tune_matmuls = false};
  options.step.pooled = options.form == AnswerForm::Pooled;
  return options;
}

// A checksum of all tokens of all examples, which detects changed data of the same size.
uint32_t fingerprint_of(const std::vector<Example>& examples) {
  std::vector<uint32_t> each;
  for (const Example& example : examples) {
    each.push_back(crc32_of(std::as_bytes(std::span(example.source))));
    each.push_back(crc32_of(std::as_bytes(std::span(example.target))));
  }
  return crc32_of(std::as_bytes(std::span(each)));
}

std::string describe_class_weights(const FinetuneOptions& options) {
  if (options.balance_classes) return "balanced";
  std::string text;
  for (const auto& [label, weight] : options.class_weights) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", label, weight);
  }
  return text.empty() ? "none" : text;
}

std::string describe_first_weights(const FinetuneOptions& options) {
  if (options.from.empty()) return "none";
  return fmt::format("{:08x}", crc32_of(MappedFile(options.from / kWeightsFile).bytes()));
}

RunIdentity identity_of(const FinetuneOptions& options, const Tokenizer& tokenizer,
                        const std::vector<Example>& examples) {
  size_t tokens = 0;
  for (const Example& example : examples) tokens += example.source.size() + example.target.size();
  RunIdentity identity = convseq::identity_of(static_cast<const TrainingOptions&>(options));
  const RunIdentity more = {
      {"tokenizer", fmt::format("{:08x}", tokenizer.fingerprint())},
      {"task", options.task.name},
      {"first weights", describe_first_weights(options)},
      {"held-out share",
       options.task.has_split("validation") ? "none" : fmt::format("{}", options.held_out)},
      {"class weights", describe_class_weights(options)},
      {"frozen encoder", options.freeze_encoder ? "yes" : "no"},
      {"source template", options.task.source.pattern()},
      {"target template", options.task.target.pattern()},
      {"examples", fmt::format("{} ({} tokens)", examples.size(), tokens)},
      {"data", fmt::format("{:08x}", fingerprint_of(examples))},
      {"batch", std::to_string(options.batch_rows)}};
  identity.insert(identity.end(), more.begin(), more.end());
  if (is_multi(options)) identity.push_back({"label kind", std::string(name_of(LabelKind::Multi))});
  return identity;
}

void evaluate_splits(const FinetuneOptions& options, Engine& engine, const Tokenizer& tokenizer,
                     const TaskSplit& validation, FinetuneSummary& summary) {
  TaskAnswerer answerer(engine, tokenizer, options.task,
                        usual_answer(engine.config(), options.task));
  const auto answer = [&](const std::string& name, const TaskSplit& split) {
    if (split.examples.empty()) return;
    TaskEvaluation evaluation =
        evaluate_task(answerer, split,
                      {.batches = options.batches,
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
  check(options, tokenizer, communicator.size());
  Splits splits = read_splits(options, tokenizer);
  options = with_limits(options, splits.train.examples.size());
  FinetuneSummary summary;
  summary.rows["train"] = splits.train.totals;
  if (!splits.validation.examples.empty()) summary.rows["validation"] = splits.validation.totals;
  if (is_multi(options)) options.step.positive_weights = positive_weights(options, splits.train);
  auto examples = examples_of(options, std::move(splits.train));
  require_training_memory(options, config_of(options), shape_of(options, examples, communicator));
  const auto model = first_model(options);
  TrainingRun run(
      options, model, {.tokenizer_from = options.tokenizer, .task = options.task.to_json()},
      communicator.rank() == 0 && !options.in_memory ? identity_of(options, tokenizer, examples)
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
    evaluate_splits(options, engine, tokenizer, splits.validation, summary);
    if (!options.in_memory) write_json_file(options.out / "evaluation.json", summary.to_json());
  }
  communicator.barrier();
  return summary;
}

FinetuneSummary finetune(const FinetuneOptions& options) {
  const auto alone = make_single_communicator();
  return finetune(options, *alone);
}

}  // namespace convseq
