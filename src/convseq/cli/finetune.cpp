#include "convseq/train/finetune.h"

#include <fmt/format.h>

#include "convseq/cli/commands.h"
#include "convseq/cli/options/model_task.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/options/task_flags.h"
#include "convseq/cli/options/training_flags.h"
#include "convseq/cli/signals.h"
#include "convseq/eval/report_text.h"
#include "convseq/spec/presets.h"

namespace convseq::cli {
namespace {

struct FinetuneFlags {
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
    require(weight.number.has_value(), "--class-weights {}: allowed: balanced, or LABEL=NUMBER",
            each);
    options.class_weights[weight.name] = *weight.number;
  }
  require(!options.balance_classes || options.class_weights.empty(),
          "--class-weights: either balanced or LABEL=NUMBER, not both");
}

// A pre-trained folder brings its config and tokenizer; a preset wants a tokenizer.
void set_model(FinetuneFlags& flags) {
  FinetuneOptions& options = flags.run;
  require(options.from.empty() != flags.model.empty(),
          "give either --from MODEL_FOLDER or, to train from scratch, --model PRESET");
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

void run(FinetuneFlags& flags) {
  FinetuneOptions& options = flags.run;
  set_model(flags);
  set_weights(flags.class_weights, options);
  options.task = task_of(flags.task, remembered_task(options.from));
  BadLines bad_lines(flags.task.on_bad_line);
  const std::string stopped = options.out.string() + ": stopped while it read the data";
  options.reader = {.data = flags.task.data,
                    .lines = {.bad_lines = &bad_lines, .stop = stop_reading(stopped)}};
  run_training(flags.training, options, [&](Communicator& communicator) -> TrainingReport {
    const FinetuneSummary done = finetune(options, communicator);
    Json json = done.to_json();
    json["out"] = options.out.string();
    std::string text = describe(done.training, options.out);
    for (const auto& [split, totals] : done.rows) {
      if (const std::string said = totals.describe(); !said.empty())
        text += "\n" + split + ": " + said;
    }
    for (const auto& [split, report] : done.reports) text += "\n" + describe(split, report);
    return {json, text, done.training.end == TrainingEnd::Stopped};
  });
}

void add_model_flags(CLI::App& command, FinetuneFlags& flags) {
  FinetuneOptions& options = flags.run;
  command.add_option("--from", options.from, "Pre-trained model folder to start from");
  command.add_option("--model", flags.model,
                     "Model to train from scratch: a preset, a config file, or a model folder "
                     "whose config is used");
  command.add_option(
      "--tokenizer", options.tokenizer,
      "Tokenizer: a spiece.model file or the folder that holds it (default: that of --from)");
  command.add_option("--set", flags.overrides, "Config override, such as --set dropout=0.1")
      ->type_name("KEY=VALUE");
  command.add_flag("--freeze-encoder", options.freeze_encoder,
                   "Freeze the encoder and the embeddings; train only the decoder or the head");
  add_enum(command, "--answer", options.form,
           "How the model predicts: text = the decoder writes the label, pooled = a classification "
           "head on the mean-pooled encoder output, without a decoder");
}

void add_data_flags(CLI::App& command, FinetuneFlags& flags) {
  FinetuneOptions& options = flags.run;
  const CountRange limit{.min = 0, .max = kMostRows};
  add_count(command, "--batch", options.batch_rows,
            "Global batch size: examples per step, over all processes", {.max = kMostRows});
  add_real(command, "--epochs", options.epochs,
           "Number of epochs (unless --steps, --tokens or --minutes is given)",
           {.max = 1e6, .above_min = true});
  command
      .add_option("--class-weights", flags.class_weights,
                  "Class weights in the loss: balanced, or LABEL=NUMBER,...")
      ->delimiter(',');
  add_real(command, "--held-out", options.held_out,
           "Fraction of the training examples held out for validation if the task has no "
           "validation split (0 = none, no validation)",
           {.max = 0.99});
  add_count(command, "--train-limit", options.train_limit,
            "Use only the first N training examples (0 = all)", limit);
  add_count(command, "--validation-limit", options.validation_limit,
            "Use only the first N validation examples (0 = all)", limit);
}

}  // namespace

void add_finetune(CLI::App& program) {
  auto flags = std::make_shared<FinetuneFlags>();
  CLI::App* command = program.add_subcommand(
      "finetune",
      "Fine-tune a model on a task and keep its best weights by validation; resumes an interrupted "
      "run");
  command
      ->add_option("OUT,--out", flags->run.out, "Output folder for the model, checkpoints and logs")
      ->required();
  add_task_flags(*command, flags->task);
  add_model_flags(*command, *flags);
  add_data_flags(*command, *flags);
  flags->training.usual_on_gpu = Precision::Bf16;
  add_training_flags(*command, flags->training, flags->run);
  command->footer(
      "Examples:\n  convseq finetune models/sst2 sst2 --from models/light\n"
      "  convseq finetune models/mine reviews.csv --source 'review: {text}' --target '{label}' "
      "--labels good,bad --from models/light --answer pooled");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
