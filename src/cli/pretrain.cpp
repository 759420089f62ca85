#include "convseq/train/pretrain.h"

#include <fmt/format.h>

#include "convseq/cli/commands.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/options/training_flags.h"
#include "convseq/spec/presets.h"

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
  require(share.number.has_value(), "--corpus {}: the weight after = is not a number", text);
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
    return {json, describe(done, options.out), done.end == TrainingEnd::Stopped};
  });
}

}  // namespace

void add_pretrain(CLI::App& program) {
  auto flags = std::make_shared<Flags>();
  PretrainOptions& options = flags->run;
  options.corpus.batch_rows = 32;
  CLI::App* command = program.add_subcommand(
      "pretrain", "Span-denoising pre-training; continues where it was stopped");
  command->add_option("OUT,--out", options.out, "Model folder to write, with checkpoints and logs")
      ->required();
  command
      ->add_option("--corpus", flags->corpora,
                   "Token shards or raw text; several are mixed by CORPUS=WEIGHT")
      ->required();
  command->add_option("--tokenizer", options.tokenizer, "spiece.model, or a folder that holds it")
      ->required();
  command->add_option("--model", flags->model, "Preset, config file or model folder")
      ->capture_default_str();
  command->add_option("--set", flags->overrides, "Override of a config key: --set kernel_sizes=15")
      ->type_name("KEY=VALUE");
  command->add_option("--validation", options.validation_corpus, "Corpus for the validation loss");
  add_count(*command, "--batch", options.corpus.batch_rows, "Examples per update, of all processes",
            {.max = kMostRows});
  add_count(*command, "--source", options.corpus.room.source, "Longest source, in tokens",
            {.max = kLongest});
  add_count(*command, "--target", options.corpus.room.target, "Longest target, in tokens",
            {.max = kLongest});
  add_real(*command, "--noise", options.objective.noise_density,
           "Noise density: share of tokens to restore", {.min = 0.001, .max = 0.999});
  add_real(*command, "--span", options.objective.mean_span_length, "Mean length of a noise span",
           {.min = 1, .max = 1000});
  add_count(*command, "--threads", options.corpus.threads, "Threads that prepare batches",
            {.max = kMostThreads});
  add_training_flags(*command, flags->training, options);
  command->footer(
      "Examples:\n  convseq pretrain models/light --model paper-light-small --corpus shards/c4 "
      "--tokenizer models/tokenizer --steps 20000\n  mpirun -n 4 convseq pretrain …   (each "
      "batch is shared by four processes)");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
