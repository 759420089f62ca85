#include "train/pretrain.h"

#include <fmt/format.h>
#include <torch/cuda.h>

#include <csignal>
#include <cstdlib>

#include "cli/commands.h"
#include "cli/options.h"
#include "model/presets.h"

namespace convseq {

enum class Precision { Fp32, Bf16 };
template <>
inline constexpr auto kEnumNames<Precision> =
    std::to_array<EnumName<Precision>>({{Precision::Fp32, "fp32"}, {Precision::Bf16, "bf16"}});

namespace cli {
namespace {

volatile std::sig_atomic_t interrupts = 0;

struct Flags {
  PretrainOptions run;
  std::string model = "paper-light-tiny";
  std::vector<std::string> overrides;
  std::vector<std::string> corpora;
  Precision precision = Precision::Fp32;
  bool fresh = false;
  bool json = false;
};

// The first signal ends the run after this step, with a checkpoint; the second at once.
void end_on_signals() {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) {
      if (interrupts != 0) std::_Exit(1);
      interrupts = 1;
    });
  }
}

// "c4" or "c4=0.7"
CorpusShare share_of(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos) return {.corpus = text};
  char* end = nullptr;
  const double weight = std::strtod(text.c_str() + equals + 1, &end);
  require(end != text.c_str() + equals + 1 && *end == '\0', "--corpus {}: the weight is no number",
          text);
  return {.corpus = text.substr(0, equals), .weight = weight};
}

void run(Flags& flags) {
  PretrainOptions& options = flags.run;
  const Tokenizer tokenizer = Tokenizer::load(options.tokenizer);
  flags.overrides.insert(flags.overrides.begin(),
                         fmt::format("vocab_size={}", tokenizer.vocabulary().size()));
  options.model = find_model_config(flags.model, flags.overrides);
  for (const std::string& corpus : flags.corpora)
    options.corpus.corpora.push_back(share_of(corpus));
  options.device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;
  options.compute = flags.precision == Precision::Bf16 ? torch::kBFloat16 : torch::kFloat32;
  options.resume = !flags.fresh;
  options.stop = [] { return interrupts != 0; };
  end_on_signals();
  const PretrainSummary done = pretrain(options);
  if (flags.json) {
    Json report = {{"out", options.out.string()},
                   {"finished", done.finished},
                   {"step", done.step},
                   {"source_tokens", done.source_tokens},
                   {"skipped_steps", done.skipped_steps},
                   {"loss", done.loss}};
    if (done.best_validation) report["best_validation_nll"] = *done.best_validation;
    fmt::print("{}\n", report.dump());
    return;
  }
  fmt::print("{}: {} {} steps, {} source tokens, last loss {:.4f}{}\n", options.out.string(),
             done.finished ? "finished" : "stopped after", done.step, done.source_tokens, done.loss,
             done.best_validation
                 ? fmt::format(", best validation NLL {:.4f}", *done.best_validation)
                 : "");
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
  command->add_option("--steps", options.steps, "Updates in all")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--batch", options.corpus.batch_rows, "Examples an update")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--micro-batch", options.micro_batch_rows, "Examples computed at a time; 0: all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--source", options.corpus.room.source, "Longest source")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--target", options.corpus.room.target, "Longest target")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_enum(*command, "--optimizer", options.optimizer.kind, "What moves the weights");
  add_enum(*command, "--schedule", options.schedule.kind, "How the learning rate goes");
  command->add_option("--lr", options.schedule.learning_rate, "Highest learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--warmup", options.schedule.warmup_steps, "Steps of warm-up")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--weight-decay", options.optimizer.weight_decay, "Decoupled")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--clip", options.step.clip_norm, "Largest global gradient norm")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--z-loss", options.step.z_loss, "Weight of log(Z)²")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_enum(*command, "--precision", flags->precision,
           "What the model computes in; weights are kept in fp32");
  command->add_option("--seed", options.seed, "Weights, order and spans follow from it")
      ->capture_default_str();
  command->add_option("--save-every", options.save_every, "Steps between checkpoints")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--validate-every", options.validate_every, "Steps between validations")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--log-every", options.log_every, "Steps between lines of metrics.jsonl")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--keep", options.keep, "Checkpoints to keep")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--threads", options.corpus.threads, "That prepare batches")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_flag("--fresh", flags->fresh, "Begin anew even where the folder has checkpoints");
  command->add_flag("!--quiet", options.progress, "No progress on standard error");
  command->add_flag("--json", flags->json, "Report as JSON");
  command->footer(
      "Example:\n  convseq pretrain models/light --model paper-light-small --corpus shards/c4 "
      "--tokenizer models/tokenizer --steps 20000");
  command->callback([flags] { run(*flags); });
}

}  // namespace cli
}  // namespace convseq
