#include "train/pretrain.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/training_flags.h"
#include "model/presets.h"

namespace convseq::cli {
namespace {

struct Flags {
  PretrainOptions run;
  TrainingFlags training;
  std::string model = "paper-light-tiny";
  std::vector<std::string> overrides;
  std::vector<std::string> corpora;
};

// "c4" or "c4=0.7"
CorpusShare share_of(const std::string& text) {
  const NamedNumber share = named_number(text);
  if (!share.has_equals) return {.corpus = text};
  require(share.number.has_value(), "--corpus {}: the weight is no number", text);
  return {.corpus = share.name, .weight = *share.number};
}

void run(Flags& flags) {
  PretrainOptions& options = flags.run;
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  flags.overrides.insert(flags.overrides.begin(),
                         fmt::format("vocab_size={}", tokenizer.vocabulary().size()));
  options.model = find_model_config(flags.model, flags.overrides);
  for (const std::string& corpus : flags.corpora)
    options.corpus.corpora.push_back(share_of(corpus));
  run_training(flags.training, options, [&](Communicator& communicator) -> TrainingReport {
    const TrainingSummary done = pretrain(options, communicator);
    Json json = done.to_json();
    json["out"] = options.out.string();
    return {json, describe(done, options.out)};
  });
}

}  // namespace

void add_pretrain(CLI::App& program) {
  auto flags = std::make_shared<Flags>();
  PretrainOptions& options = flags->run;
  options.corpus.batch_rows = 32;
  CLI::App* command = program.add_subcommand(
      "pretrain", "Span-denoising pre-training; goes on where it was stopped");
  command->add_option("out", options.out, "The model folder to make, with its checkpoints and logs")
      ->required();
  command
      ->add_option("--corpus", flags->corpora,
                   "Token shards or raw text; several are mixed, CORPUS=WEIGHT")
      ->required();
  command->add_option("--tokenizer", options.tokenizer, "spiece.model, or a folder that holds it")
      ->required();
  command->add_option("--model", flags->model, "A preset, a config file or a model folder")
      ->capture_default_str();
  command->add_option("--set", flags->overrides, "Override a config key: --set kernel_sizes=15")
      ->type_name("KEY=VALUE");
  command->add_option("--validation", options.validation_corpus,
                      "A corpus for the validation loss");
  command->add_option("--batch", options.corpus.batch_rows, "Examples an update, of all processes")
      ->check(kPositive)
      ->capture_default_str();
  command->add_option("--source", options.corpus.room.source, "Longest source")
      ->check(kPositive)
      ->capture_default_str();
  command->add_option("--target", options.corpus.room.target, "Longest target")
      ->check(kPositive)
      ->capture_default_str();
  command->add_option("--noise", options.objective.noise_density, "Share of the tokens to restore")
      ->check(CLI::Range(0.001, 0.999))
      ->capture_default_str();
  command->add_option("--span", options.objective.mean_span_length, "Mean length of a gap")
      ->check(CLI::Range(1.0, 1000.0))
      ->capture_default_str();
  command->add_option("--threads", options.corpus.threads, "That prepare batches")
      ->check(kPositive)
      ->capture_default_str();
  add_training_flags(*command, flags->training, options);
  command->footer(
      "Example:\n  convseq pretrain models/light --model paper-light-small --corpus shards/c4 "
      "--tokenizer models/tokenizer --steps 20000\n  mpirun -n 4 convseq pretrain … shares each "
      "batch among four processes");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
