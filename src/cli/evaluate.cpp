#include <fmt/format.h>

#include "base/progress.h"
#include "cli/commands.h"
#include "cli/evaluation.h"
#include "cli/options.h"
#include "cli/task_flags.h"
#include "cli/training_flags.h"
#include "infer/predictions.h"
#include "model/checkpoint.h"

namespace convseq::cli {
namespace {

struct Flags {
  std::filesystem::path model;
  TaskFlags task;
  std::string split;
  std::optional<AnswerBy> by;
  DeviceChoice device = DeviceChoice::Auto;
  TaskSplitOptions read;
  BootstrapOptions bootstrap;
  LengthBatchOptions batches;
  std::filesystem::path predictions;
  bool token_nll = true;
  bool json = false;
  bool quiet = false;
};

// The test split where there is one, then validation, then what there is.
std::string default_split(const Task& task) {
  for (const char* name : {"test", "validation"}) {
    if (task.has_split(name)) return name;
  }
  return task.files.front().first;
}

Report evaluate(Flags& flags, const Task& task, const std::string& split) {
  BadLines bad_lines(flags.task.on_bad_line);
  flags.read.reader = {.data = flags.task.data, .lines = {.bad_lines = &bad_lines}};
  const auto model = load_model(flags.model);
  const Tokenizer tokenizer = Tokenizer::load(flags.model);
  TaskAnswerer answerer(*model, tokenizer, task, flags.by.value_or(usual_answer(*model, task)));
  const TaskSplit examples = read_split(task, split, tokenizer, flags.read);
  model->to(device_of(flags.device));

  std::optional<Progress> progress;
  if (!flags.quiet) {
    progress.emplace(ProgressOptions{
        .label = "evaluate", .total = std::ssize(examples.examples), .unit = "examples"});
  }
  int64_t done = 0;
  flags.batches.on_batch = [&](size_t rows) {
    done += static_cast<int64_t>(rows);
    if (progress) progress->update(done);
  };
  const auto outcomes = outcomes_of(examples, answerer.answer(examples.sources, flags.batches));
  if (progress) progress->finish();
  if (!flags.predictions.empty()) write_predictions(flags.predictions, examples, outcomes);

  Report report = judge(task, outcomes, flags.bootstrap);
  if (flags.token_nll && model->config().decoder_layers > 0) {
    flags.batches.on_batch = {};
    report.tokens = score_tokens(
        answer_nlls(*model, examples.sources, examples.targets, flags.batches), flags.bootstrap);
  }
  return report;
}

void run(Flags& flags) {
  const Task task = task_of(flags.task);
  const std::string split = flags.split.empty() ? default_split(task) : flags.split;
  task.files_of(split);  // refuses a split that is not there
  const Report report = evaluate(flags, task, split);
  if (!flags.json) {
    fmt::print("{}\n", describe(task.name + " " + split, report));
    return;
  }
  Json json = to_json(report);
  json["model"] = flags.model.string();
  json["task"] = task.name;
  json["split"] = split;
  fmt::print("{}\n", json.dump());
}

}  // namespace

std::string describe(const std::string& split, const Report& report) {
  std::string text = split + ":";
  const auto line = [&](const std::string& name, double value, std::optional<Interval> interval) {
    text += fmt::format("\n  {:<18} {:.4f}", name, value);
    if (interval) text += fmt::format("  [{:.4f}, {:.4f}]", interval->low, interval->high);
  };
  for (const Score& score : report.scores) {
    line(std::string(name_of(score.metric)), score.value, score.interval);
  }
  if (report.tokens) {
    line("token NLL", report.tokens->total.mean(), report.tokens->mean_interval);
    line("token accuracy", report.tokens->total.accuracy(), std::nullopt);
  }
  for (const auto& [category, scores] : report.by_category) {
    line(category, scores.front().value, scores.front().interval);
  }
  if (!report.scores.empty()) text += fmt::format("\n  {} examples", report.scores.front().count);
  if (report.collapse) text += "\n  " + report.collapse->message();
  return text;
}

void add_evaluate(CLI::App& program) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = program.add_subcommand(
      "evaluate", "Score a model's answers to a task, with 95% bootstrap intervals");
  command->add_option("MODEL", flags->model, "A model folder")->required();
  add_task_flags(*command, flags->task);
  command->add_option("--split", flags->split, "Which examples; else test, or validation");
  command
      ->add_option_function<std::string>(
          "--answer",
          [flags](const std::string& name) {
            flags->by = enum_of_flag<AnswerBy>("--answer", name);
          },
          fmt::format("How it answers ({}); else by its head, the task's labels, or greedily",
                      all_names<AnswerBy>()))
      ->type_name("NAME");
  command->add_option("--limit", flags->read.limit, "Only the first so many examples; 0: all")
      ->check(kNotNegative)
      ->capture_default_str();
  command->add_option("--batch", flags->batches.max_rows, "Examples answered at once")
      ->check(kPositive)
      ->capture_default_str();
  command->add_option("--resamples", flags->bootstrap.resamples, "Of the bootstrap; 0: none")
      ->check(kNotNegative)
      ->capture_default_str();
  command->add_option("--predictions", flags->predictions,
                      "Write every answer here, as JSON lines");
  command->add_flag("!--no-nll", flags->token_nll, "Leave out the likelihood of the right answers");
  add_device(*command, flags->device);
  command->add_flag("--quiet", flags->quiet, "No progress on standard error");
  command->add_flag("--json", flags->json, "Report as JSON");
  command->footer("Example:\n  convseq evaluate models/sst2 sst2 --split validation --json");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
