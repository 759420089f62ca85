#include "train/finetune.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/evaluation.h"
#include "cli/options.h"
#include "cli/task_flags.h"
#include "cli/training_flags.h"
#include "model/presets.h"

namespace convseq::cli {
namespace {

struct Flags {
  FinetuneOptions run;
  TrainingFlags training;
  TaskFlags task;
  std::string model;
  std::vector<std::string> overrides;
  std::vector<std::string> class_weights;
};

// "balanced", or "toxic=3"
void set_weights(const std::vector<std::string>& given, FinetuneOptions& options) {
  for (const std::string& each : given) {
    if (each == "balanced") {
      options.balance_classes = true;
      continue;
    }
    const NamedNumber weight = named_number(each);
    require(weight.number.has_value(), "--class-weights {}: wants balanced, or LABEL=NUMBER", each);
    options.class_weights[weight.name] = *weight.number;
  }
}

// A pre-trained folder brings its config and tokenizer; a preset wants a tokenizer.
void set_model(Flags& flags) {
  FinetuneOptions& options = flags.run;
  require(options.from.empty() != flags.model.empty(),
          "begin from one of the two: --from MODEL_FOLDER, or --model PRESET for a new model");
  if (options.from.empty()) {
    require(!options.tokenizer.empty(), "--model {}: a new model needs a --tokenizer", flags.model);
    const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
    flags.overrides.insert(flags.overrides.begin(),
                           fmt::format("vocab_size={}", tokenizer.vocabulary().size()));
    options.model = find_model_config(flags.model, flags.overrides);
    return;
  }
  require(std::filesystem::is_directory(options.from), "{}: no such model folder",
          options.from.string());
  if (options.tokenizer.empty()) options.tokenizer = options.from;
  options.model = find_model_config(options.from.string(), flags.overrides);
}

void run(Flags& flags) {
  FinetuneOptions& options = flags.run;
  set_model(flags);
  set_weights(flags.class_weights, options);
  options.task = task_of(flags.task);
  BadLines bad_lines(flags.task.on_bad_line);
  options.reader = {.data = flags.task.data, .lines = {.bad_lines = &bad_lines}};
  run_training(flags.training, options, [&](Communicator& communicator) -> TrainingReport {
    const FinetuneSummary done = finetune(options, communicator);
    Json json = done.to_json();
    json["out"] = options.out.string();
    std::string text = describe(done.training, options.out);
    for (const auto& [split, report] : done.reports) text += "\n" + describe(split, report);
    return {json, text};
  });
}

void add_model_flags(CLI::App& command, Flags& flags) {
  FinetuneOptions& options = flags.run;
  command.add_option("--from", options.from, "A pre-trained model folder to begin from");
  command.add_option("--model", flags.model,
                     "Or from scratch: a preset, a config file or a model folder's config");
  command.add_option("--tokenizer", options.tokenizer,
                     "spiece.model, or a folder that holds it; with --from the folder's own");
  command.add_option("--set", flags.overrides, "Override a config key: --set dropout=0.1")
      ->type_name("KEY=VALUE");
  command.add_flag("--freeze-encoder", options.freeze_encoder,
                   "Teach the rest alone; the embedding stays as it is too");
  add_enum(command, "--answer", options.form,
           "How the model answers: the decoder's text, or a pooled head without a decoder");
}

void add_data_flags(CLI::App& command, Flags& flags) {
  FinetuneOptions& options = flags.run;
  command.add_option("--batch", options.batch_rows, "Examples an update, of all processes")
      ->check(kPositive)
      ->capture_default_str();
  command
      .add_option("--epochs", options.epochs,
                  "Passes over the examples, where no --steps, --tokens or --minutes is given")
      ->check(kPositive)
      ->capture_default_str();
  command
      .add_option("--class-weights", flags.class_weights,
                  "balanced, or LABEL=NUMBER,…: how much a label counts in the loss")
      ->delimiter(',');
  command
      .add_option("--held-out", options.held_out,
                  "Share of the training examples for validation, where the task has no split")
      ->capture_default_str();
  command.add_option("--train-limit", options.train_limit, "Only the first so many; 0: all")
      ->check(kNotNegative)
      ->capture_default_str();
  command.add_option("--validation-limit", options.validation_limit, "Only the first so many")
      ->check(kNotNegative)
      ->capture_default_str();
}

}  // namespace

void add_finetune(CLI::App& program) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = program.add_subcommand(
      "finetune", "Teach a model a task, keep the best validation; goes on where it was stopped");
  command
      ->add_option("OUT", flags->run.out, "The model folder to make, with its checkpoints and logs")
      ->required();
  add_task_flags(*command, flags->task);
  add_model_flags(*command, *flags);
  add_data_flags(*command, *flags);
  add_training_flags(*command, flags->training, flags->run);
  command->footer(
      "Examples:\n  convseq finetune models/sst2 sst2 --from models/light\n"
      "  convseq finetune models/mine reviews.csv --source 'review: {text}' --target '{label}' "
      "--labels good,bad --from models/light --answer pooled");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
