#include <fmt/format.h>

#include "convseq/answer/evaluate_task.h"
#include "convseq/answer/predictions.h"
#include "convseq/base/file/output_file.h"
#include "convseq/base/log.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/engines.h"
#include "convseq/cli/example_progress.h"
#include "convseq/cli/options/calibration_flags.h"
#include "convseq/cli/options/model_task.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/options/task_flags.h"
#include "convseq/cli/signals.h"
#include "convseq/eval/report_text.h"

namespace convseq::cli {
namespace {

constexpr const char* kEvaluateStopped = "evaluate: stopped; nothing was written";

struct EvaluateFlags {
  std::filesystem::path model;
  TaskFlags task;
  std::string split;
  std::optional<AnswerBy> by;
  EngineChoice engine;
  TaskSplitOptions read;
  BootstrapOptions bootstrap;
  CalibrationFlags calibration;
  LengthBatchOptions batches;
  std::filesystem::path predictions;
  double max_memory = 0;
  bool token_nll = true;
  bool json = false;
  bool quiet = false;
};

struct Evaluation {
  TaskSplit examples;
  TaskEvaluation found;
};

// Every file of the model and of the split.
std::vector<std::filesystem::path> inputs_of(const EvaluateFlags& flags, const Task& task,
                                             const std::string& split) {
  std::vector<std::filesystem::path> inputs = files_of_model(flags.model);
  for (const auto& file : task.files_of(split)) {
    inputs.push_back(find_task_file(task, file, flags.task.data));
  }
  return inputs;
}

void require_memory_for(const EvaluateFlags& flags, const ModelConfig& config,
                        const TaskSplit& examples) {
  AnswerShape shape{.rows = std::min(flags.batches.max_rows, std::ssize(examples.sources))};
  for (const TokenIds& source : examples.sources)
    shape.source = std::max(shape.source, std::ssize(source));
  for (const TokenIds& target : examples.targets)
    shape.target = std::max(shape.target, std::ssize(target));
  shape.rows = std::min(shape.rows, std::max<int64_t>(1, flags.batches.max_tokens / shape.source));
  require_answer_memory(flags.model, config, flags.engine, shape, flags.max_memory);
}

Evaluation evaluate(EvaluateFlags& flags, Task task, const std::string& split) {
  const Calibration stored = calibration_of(flags.calibration, flags.model, task);
  BadLines bad_lines(flags.task.on_bad_line);
  flags.read.reader = {.data = flags.task.data,
                       .lines = {.bad_lines = &bad_lines, .stop = stop_reading(kEvaluateStopped)}};
  const auto engine = load_engine(flags.model, flags.engine);
  fit_to_positions(task, engine->config());
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  TaskAnswerer answerer(*engine, tokenizer, task,
                        flags.by.value_or(usual_answer(engine->config(), task)));
  TaskSplit examples = read_split(task, split, tokenizer, flags.read);
  require_memory_for(flags, engine->config(), examples);

  ExampleProgress progress(std::ssize(examples.examples), !flags.quiet, kEvaluateStopped);
  flags.batches.on_batch = [&](size_t rows) { progress.add(rows); };
  const CalibrationFlags& calibration = flags.calibration;
  TaskEvaluation found = evaluate_task(
      answerer, examples,
      {.batches = flags.batches,
       .bootstrap = flags.bootstrap,
       .metrics = flags.task.metrics.empty() ? all_metrics(task, answerer.by()) : task.metrics,
       .token_nll = flags.token_nll,
       .finite_scores = true,
       .calibration = stored,
       .fit = calibration.fit,
       .on_pass = [&](const char* pass) { progress.start(pass); }});
  progress.finish();
  throw_if_interrupted(kEvaluateStopped);
  if (calibration.fit.any()) {
    found.calibration.fitted = fit_record(calibration, task, split, examples.examples.size());
  }
  return {.examples = std::move(examples), .found = std::move(found)};
}

void print_report(const EvaluateFlags& flags, const Task& task, const std::string& split,
                  const Evaluation& evaluation) {
  const auto& [examples, found] = evaluation;
  // Answers that go to standard output stand there alone.
  std::FILE* out = flags.predictions == "-" ? stderr : stdout;
  if (!flags.json) {
    fmt::print(out, "{}\n",
               describe(title_of(flags.task, task, split), found.report, examples.totals));
    if (const std::string text = describe(found.calibration); !text.empty()) {
      fmt::print(out, "  calibration: {}\n", text);
    }
    return;
  }
  Json json = to_json(found.report);
  json["rows"] = examples.totals.to_json();
  if (found.calibration != Calibration()) json["calibration"] = found.calibration.to_json();
  json["model"] = flags.model.string();
  json["task"] = task.name;
  json["split"] = split;
  json["files"] = Json::array();
  for (const auto& file : task.files_of(split)) json["files"].push_back(file.string());
  fmt::print(out, "{}\n", json.dump());
}

void run(EvaluateFlags& flags) {
  end_on_signals();
  if (flags.quiet) log::set_level(log::Level::Warning);
  require(std::filesystem::is_directory(flags.model), "{}: no such model folder",
          flags.model.string());
  const auto remembered = remembered_task(flags.model);
  const Task task = task_for_model(flags.task, remembered);
  if (remembered && flags.task.source.empty() &&
      remembered->source.pattern() != task.source.pattern()) {
    log::warning(
        "{} reads \"{}\", the model was trained on \"{}\"; give the files with --test to "
        "use the model's",
        task.name, task.source.pattern(), remembered->source.pattern());
  }
  require(!flags.calibration.save || flags.calibration.fit.any(),
          "--save: nothing is fitted; use --fit-threshold or --fit-temperature");
  if (flags.calibration.fit.threshold) labels_to_fit(task);  // refuses a task without one
  const std::string split = flags.calibration.fit.any() ? split_to_fit(task, flags.split)
                            : flags.split.empty()       ? default_split(task)
                                                        : flags.split;
  task.files_of(split);  // refuses a split that is not there
  // What cannot be written is refused before anything is computed.
  std::optional<OutputFile> predictions;
  if (!flags.predictions.empty()) {
    predictions.emplace(flags.predictions, inputs_of(flags, task, split));
  }
  const Evaluation evaluation = evaluate(flags, task, split);
  print_report(flags, task, split, evaluation);
  if (predictions) {
    write_predictions(*predictions, evaluation.examples, evaluation.found);
    predictions->commit();
  }
  if (flags.calibration.save) evaluation.found.calibration.save(flags.model);
}

}  // namespace

void add_evaluate(CLI::App& program) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* command = program.add_subcommand(
      "evaluate", "Evaluate a model on a task, with 95% bootstrap confidence intervals");
  command->add_option("MODEL,--model", flags->model, "Model folder")->required();
  add_task_flags(*command, flags->task);
  command->add_option(
      "--split", flags->split,
      "Split to evaluate (default: test, else validation; with --fit-…: validation)");
  add_enum(
      *command, "--answer", flags->by,
      "Prediction method: greedy = generated text, labels = the label that the decoder finds "
      "likeliest, head = classification head (default: head for a model without a decoder, else "
      "labels if the task has them, else greedy)");
  add_count(*command, "--limit", flags->read.limit, "Use only the first N examples (0 = all)",
            {.min = 0, .max = kMostRows});
  add_count(*command, "--batch", flags->batches.max_rows, "Batch size", {.max = kMostRows});
  add_count(*command, "--resamples", flags->bootstrap.resamples,
            "Bootstrap resamples (0 = no confidence intervals)", {.min = 0, .max = 1'000'000});
  command
      ->add_option("--predictions", flags->predictions,
                   "File for the predictions as JSON lines (- = standard output)")
      ->type_name("FILE");
  command->add_flag("!--no-nll", flags->token_nll,
                    "Skip the negative log-likelihood of the reference answers");
  add_calibration_flags(*command, flags->calibration);
  add_engine_flags(*command, flags->engine);
  add_max_memory(*command, flags->max_memory);
  command->add_flag("--quiet", flags->quiet, "Hide progress and info messages");
  command->add_flag("--json", flags->json, "Print the report as JSON");
  command->footer(
      "Examples:\n  convseq evaluate models/sst2 sst2 --split validation --json\n"
      "  convseq evaluate models/mine new-reviews.csv   (template and labels are the model's own)\n"
      "  convseq evaluate models/toxic wiki_toxic --fit-temperature --fit-threshold precision=0.9 "
      "--save");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
