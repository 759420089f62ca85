#include "convseq/runtime/quantize.h"

#include <fmt/format.h>

#include "convseq/answer/evaluate_task.h"
#include "convseq/base/counted.h"
#include "convseq/base/file/output_folder.h"
#include "convseq/base/log.h"
#include "convseq/base/memory.h"
#include "convseq/cli/commands.h"
#include "convseq/cli/engines.h"
#include "convseq/cli/example_progress.h"
#include "convseq/cli/options/model_task.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/options/task_flags.h"
#include "convseq/cli/signals.h"

namespace convseq::cli {
namespace {

constexpr const char* kQuantizeStopped = "quantize: stopped; nothing was written";

struct QuantizeFlags {
  std::filesystem::path model, out;
  bool int8 = false, bf16 = false;
  TaskFlags task;
  std::string split;
  int64_t limit = 0;
  BootstrapOptions bootstrap;
  EngineChoice engine;
  bool force = false;
  bool json = false;
  bool quiet = false;

  MatrixType type() const { return int8 ? MatrixType::Int8 : MatrixType::Bf16; }
  // Quantizing needs no data: only files or a task that the user names are evaluated on.
  bool evaluates() const {
    return !task.task.empty() || !task.validation.empty() || !task.test.empty();
  }
};

// The same examples, answered with the weights before and after.
struct Comparison {
  Task task;
  std::string split;
  TaskSplit examples;
  Calibration calibration;  // of both
  TaskEvaluation before, after;
  std::vector<Score> difference;  // after − before
  int64_t changed_answers = 0;
};

TaskEvaluation answered(const std::filesystem::path& folder, const char* pass,
                        const Comparison& plan, const QuantizeFlags& flags) {
  const Task& task = plan.task;
  const auto engine = load_engine(folder, flags.engine);
  const Tokenizer tokenizer = Tokenizer::load(folder);
  TaskAnswerer answerer(*engine, tokenizer, task, usual_answer(engine->config(), task));
  ExampleProgress progress(std::ssize(plan.examples.examples), !flags.quiet,
                           "quantize: stopped while evaluating");
  progress.start(pass);
  return evaluate_task(
      answerer, plan.examples,
      {.batches = {.on_batch = [&](size_t rows) { progress.add(rows); }},
       .bootstrap = flags.bootstrap,
       .metrics = flags.task.metrics.empty() ? all_metrics(task, answerer.by()) : task.metrics,
       .finite_scores = true,
       .calibration = plan.calibration});
}

// What will be compared. Whatever is wrong with the data is an Error here, before the model is
// written.
Comparison planned(const QuantizeFlags& flags) {
  Comparison plan;
  plan.task = task_for_model(flags.task, remembered_task(flags.model));
  fit_to_positions(plan.task, ModelConfig::load(flags.model / kConfigFile));
  plan.split = flags.split.empty() ? default_split(plan.task) : flags.split;
  plan.task.files_of(plan.split);  // refuses a split that is not there
  if (!plan.task.labels.empty()) {
    plan.calibration = load_calibration(flags.model, plan.task.label_kind, plan.task.labels);
  }
  BadLines bad_lines(flags.task.on_bad_line);
  plan.examples = read_split(
      plan.task, plan.split, Tokenizer::load(flags.model),
      {.reader = {.data = flags.task.data,
                  .lines = {.bad_lines = &bad_lines, .stop = stop_reading(kQuantizeStopped)}},
       .limit = flags.limit});
  return plan;
}

void compare(const QuantizeFlags& flags, Comparison& result) {
  const Task& task = result.task;
  result.before = answered(flags.model, "before", result, flags);
  result.after = answered(flags.out, "after", result, flags);
  result.difference = score_difference(
      result.after.outcomes, result.before.outcomes,
      {.metrics = task.metrics, .labels = label_set_of(task), .bootstrap = flags.bootstrap});
  for (size_t i = 0; i < result.after.outcomes.size(); ++i) {
    result.changed_answers +=
        result.before.outcomes[i].prediction != result.after.outcomes[i].prediction ? 1 : 0;
  }
}

Json to_json(const QuantizeFlags& flags, const QuantizedSize& size,
             const std::optional<Comparison>& comparison) {
  Json json = {{"model", flags.model.string()},
               {"out", flags.out.string()},
               {"type", name_of(flags.type())},
               {"bytes_before", size.before},
               {"bytes", size.after}};
  if (!comparison) return json;
  json["task"] = comparison->task.name;
  json["split"] = comparison->split;
  json["before"] = convseq::to_json(comparison->before.report);
  json["after"] = convseq::to_json(comparison->after.report);
  json["difference"] = convseq::to_json(comparison->difference);
  json["examples"] = comparison->after.outcomes.size();
  json["changed_answers"] = comparison->changed_answers;
  return json;
}

void print(const QuantizeFlags& flags, const Comparison& comparison) {
  fmt::print("{}, {}, {} changed\n  {:<18} {:>8} {:>8} {:>11}\n",
             title_of(flags.task, comparison.task, comparison.split),
             counted(std::ssize(comparison.after.outcomes), "example"),
             counted(comparison.changed_answers, "answer"), "metric", "before", "after",
             "difference");
  for (size_t i = 0; i < comparison.difference.size(); ++i) {
    const Score& difference = comparison.difference[i];
    fmt::print("  {:<18} {:>8.4f} {:>8.4f} {:>+11.4f}", name_of(difference.metric),
               comparison.before.report.scores[i].value, comparison.after.report.scores[i].value,
               difference.value);
    if (const auto& interval = difference.interval) {
      fmt::print("  [{:+.4f}, {:+.4f}]", interval->low, interval->high);
    }
    fmt::print("\n");
  }
}

void quantize(const QuantizeFlags& flags) {
  end_on_signals();
  if (flags.quiet) log::set_level(log::Level::Warning);
  require(flags.int8 != flags.bf16, "the type of the matrices: use either --int8 or --bf16");
  require(std::filesystem::is_directory(flags.model), "{}: no such model folder",
          flags.model.string());
  check_output_folder(flags.out, FolderKind::Model, {.force = flags.force, .input = flags.model});
  std::optional<Comparison> comparison;
  if (flags.evaluates()) {
    comparison = planned(flags);
  } else {
    require(flags.task.train.empty() && flags.split.empty() && flags.limit == 0,
            "--train, --split and --limit are of a comparison; name a task, or files with --test");
  }
  const QuantizedSize size = quantize_model(flags.model, flags.out, flags.type(),
                                            [] { throw_if_interrupted(kQuantizeStopped); });
  if (comparison) compare(flags, *comparison);
  if (flags.json) {
    fmt::print("{}\n", to_json(flags, size, comparison).dump());
    return;
  }
  fmt::print("{}: {} bytes ({}) in {}, before {} bytes ({})\n", flags.out.string(), size.after,
             short_bytes(static_cast<double>(size.after)), name_of(flags.type()), size.before,
             short_bytes(static_cast<double>(size.before)));
  if (comparison) print(flags, *comparison);
}

}  // namespace

void add_quantize(CLI::App& program) {
  auto flags = std::make_shared<QuantizeFlags>();
  CLI::App* command = program.add_subcommand(
      "quantize",
      "Quantize a model: store the weights of its linear layers and embeddings in int8 or bf16");
  command->add_option("MODEL,--model", flags->model, "Model folder")->required();
  command->add_option("OUT,--out", flags->out, "Output folder for the model")->required();
  command->add_flag("--int8", flags->int8,
                    "Linear and embedding weights in int8, with one scale per output channel; "
                    "other weights in fp32");
  command->add_flag("--bf16", flags->bf16,
                    "Linear and embedding weights in bf16; other weights in fp32");
  add_task_flags(*command, flags->task);
  command->add_option("--split", flags->split,
                      "Split to compare the scores on (default: test, else validation)");
  add_count(*command, "--limit", flags->limit, "Use only the first N examples (0 = all)",
            {.min = 0, .max = kMostRows});
  add_count(*command, "--resamples", flags->bootstrap.resamples,
            "Bootstrap resamples (0 = no confidence intervals)", {.min = 0, .max = 1'000'000});
  add_engine_flags(*command, flags->engine);
  command->add_flag("--force", flags->force, "Replace the model in the output folder");
  command->add_flag("--quiet", flags->quiet, "Hide progress and info messages");
  command->add_flag("--json", flags->json, "Print the result as JSON");
  command->footer(
      "Given a task, the scores of both models are printed, with 95% confidence intervals of the "
      "difference.\nExample:\n  convseq quantize models/sst2 models/sst2-int8 --int8 --task sst2 "
      "--split validation");
  command->callback([flags] { quantize(*flags); });
}

}  // namespace convseq::cli
