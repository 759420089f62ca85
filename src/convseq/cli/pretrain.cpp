#include "convseq/train/pretrain.h"

#include <fmt/format.h>

#include "convseq/cli/commands.h"
#include "convseq/cli/options/objective_flags.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/options/training_flags.h"
#include "convseq/spec/presets.h"

namespace convseq::cli {
namespace {

struct PretrainFlags {
  PretrainOptions run;
  ObjectiveFlags objective;
  TrainingFlags training;
  std::string model = "paper-light-tiny";
  std::vector<std::string> overrides;
  std::vector<std::string> corpora;
};

// "c4" or "c4=0.7"
CorpusShare share_of(const std::string& text) {
  const NamedNumber share = named_number(text);
  if (!share.has_equals) return {.corpus = text};
  require(share.number.has_value(), "--corpus {}: the weight after = is not a number", text);
  return {.corpus = share.name, .weight = *share.number};
}

void run(PretrainFlags& flags) {
  PretrainOptions& options = flags.run;
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  flags.overrides.insert(flags.overrides.begin(),
                         fmt::format("vocab_size={}", tokenizer.vocabulary().size()));
  options.model = find_model_config(flags.model, flags.overrides);
  for (const std::string& corpus : flags.corpora)
    options.corpus.corpora.push_back(share_of(corpus));
  options.objective = options_of(flags.objective);
  for (const std::string& name : flags_of_others(flags.objective))
    flags.training.only_if_given.push_back(name);
  run_training(flags.training, options, [&](Communicator& communicator) -> TrainingReport {
    const TrainingSummary done = pretrain(options, communicator);
    Json json = done.to_json();
    json["out"] = options.out.string();
    json["objective"] = make_objective(options.objective, tokenizer.vocabulary())->to_json();
    return {json, describe(done, options.out), done.end == TrainingEnd::Stopped};
  });
}

}  // namespace

void add_pretrain(CLI::App& program) {
  auto flags = std::make_shared<PretrainFlags>();
  PretrainOptions& options = flags->run;
  options.corpus.batch_rows = 32;
  CLI::App* command = program.add_subcommand(
      "pretrain", "Pre-train a model on a corpus; resumes an interrupted run");
  command->add_option("OUT,--out", options.out, "Output folder for the model, checkpoints and logs")
      ->required();
  command
      ->add_option("--corpus", flags->corpora,
                   "Training corpus: a folder of token shards, or raw text; CORPUS=WEIGHT, given "
                   "several times, mixes corpora")
      ->required();
  command
      ->add_option("--tokenizer", options.tokenizer,
                   "Tokenizer: a spiece.model file or the folder that holds it")
      ->required();
  command
      ->add_option("--model", flags->model,
                   "Model: a preset, a config file, or a model folder for its config")
      ->capture_default_str();
  command->add_option("--set", flags->overrides, "Config override, such as --set kernel_sizes=15")
      ->type_name("KEY=VALUE");
  command->add_option("--validation", options.validation_corpus, "Corpus for the validation loss");
  add_count(*command, "--batch", options.corpus.batch_rows,
            "Global batch size: examples per step, over all processes", {.max = kMostRows});
  add_count(*command, "--source", options.corpus.room.source, "Maximum source length in tokens",
            {.max = kLongest});
  add_count(*command, "--target", options.corpus.room.target, "Maximum target length in tokens",
            {.max = kLongest});
  add_objective_flags(*command, flags->objective);
  add_count(*command, "--threads", options.corpus.threads, "Data-loading threads",
            {.max = kMostThreads});
  add_training_flags(*command, flags->training, options);
  command->footer(
      "Examples:\n  convseq pretrain models/light --model paper-light-small --corpus shards/c4 "
      "--tokenizer models/tokenizer --steps 20000\n  mpirun -n 4 convseq pretrain …   (each "
      "batch is split over four processes)");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
