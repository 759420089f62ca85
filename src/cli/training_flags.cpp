#include "cli/training_flags.h"

#include <fmt/format.h>
#include <torch/cuda.h>

#include "base/progress.h"
#include "cli/options.h"
#include "cli/signals.h"

namespace convseq::cli {
namespace {

CLI::Option* add_count(CLI::App& command, const char* name, int64_t& value, const char* text) {
  return command.add_option(name, value, text)->check(kNotNegative)->capture_default_str();
}

CLI::Option* add_positive(CLI::App& command, const char* name, auto& value, const char* text) {
  return command.add_option(name, value, text)->check(kPositive)->capture_default_str();
}

void add_limit_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  flags.steps =
      command.add_option("--steps", options.limits.steps, "Updates in all")->check(kPositive);
  if (options.limits.steps > 0) flags.steps->capture_default_str();
  command.add_option("--tokens", options.limits.source_tokens, "End after so many source tokens")
      ->check(kPositive);
  command.add_option("--minutes", options.limits.minutes, "End after so many minutes of training")
      ->check(kPositive);
  add_count(command, "--patience", options.limits.patience,
            "End after so many validations without a better one; 0: never");
}

void add_optimizer_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  add_enum(command, "--optimizer", options.optimizer.kind, "What moves the weights");
  flags.schedule =
      add_enum(command, "--schedule", options.schedule.kind, "How the learning rate goes");
  add_positive(command, "--lr", options.schedule.learning_rate, "Highest learning rate");
  command
      .add_option("--warmup", options.schedule.warmup_steps,
                  "Steps of warm-up; else a tenth of the steps, at most 100")
      ->check(CLI::NonNegativeNumber);
  add_count(command, "--decay", options.schedule.decay_steps,
            "Steps at the end in which the rate goes down to zero in a straight line");
  command.add_option("--weight-decay", options.optimizer.weight_decay, "Decoupled")
      ->check(kNotNegative)
      ->capture_default_str();
  add_positive(command, "--clip", options.step.clip_norm, "Largest global gradient norm");
  command
      .add_option("--label-smoothing", options.step.label_smoothing,
                  "Share of each target that is spread over all")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  command.add_option("--z-loss", options.step.z_loss, "Weight of log(Z)²")
      ->check(kNotNegative)
      ->capture_default_str();
}

void add_interval_flags(CLI::App& command, TrainingOptions& options) {
  add_positive(command, "--save-every", options.save_every, "Steps between checkpoints");
  add_count(command, "--validate-every", options.validate_every,
            "Steps between validations; 0: only at the end, of finetune after each epoch");
  add_positive(command, "--log-every", options.log_every, "Steps between lines of metrics.jsonl");
  add_positive(command, "--keep", options.keep, "Checkpoints to keep");
}

}  // namespace

CLI::Option* add_device(CLI::App& command, DeviceChoice& choice) {
  return add_enum(command, "--device", choice, "Where to compute; auto: a GPU where there is one");
}

torch::Dtype type_of(Precision precision) {
  switch (precision) {
    case Precision::Bf16:
      return torch::kBFloat16;
    case Precision::Fp64:
      return torch::kFloat64;
    default:
      return torch::kFloat32;
  }
}

torch::Device device_of(DeviceChoice choice, int local_rank) {
  if (choice == DeviceChoice::Cpu) return torch::kCPU;
  if (!torch::cuda::is_available()) {
    require(choice != DeviceChoice::Cuda, "--device cuda: no GPU is to be seen");
    return torch::kCPU;
  }
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank)};
}

void add_training_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  add_limit_flags(command, flags, options);
  add_optimizer_flags(command, flags, options);
  add_count(command, "--micro-batch", options.micro_batch_rows,
            "Examples of a process computed at a time; 0: all");
  command.add_flag("--recompute", options.step.recompute,
                   "Compute activations again in the backward pass: slower, much less memory");
  command.add_flag("!--no-graph", options.step.graph,
                   "Launch every step anew on a GPU, even where batches have one shape");
  add_enum(command, "--precision", flags.precision,
           "What the model computes in; with bf16 weights are kept in fp32");
  add_device(command, flags.device);
  command.add_option("--seed", options.seed, "Weights, order and random numbers follow from it")
      ->capture_default_str();
  add_interval_flags(command, options);
  command.add_flag("!--no-best", options.keep_best, "Do not keep the model of the best validation");
  CLI::Option* fresh =
      command.add_flag("--fresh", flags.fresh, "Begin anew, without the folder's checkpoints");
  command.add_flag("--resume", "Go on from the newest checkpoint: what it does anyway")
      ->excludes(fresh);
  command.add_flag("!--quiet", options.progress, "No progress on standard error");
  command.add_flag("--json", flags.json, "Report as JSON");
}

void run_training(const TrainingFlags& flags, TrainingOptions& options,
                  const std::function<TrainingReport(Communicator&)>& train) {
  const Launch launch = find_launch();
  options.device = device_of(flags.device, launch.local_rank);
  options.compute = type_of(flags.precision);
  options.resume = !flags.fresh;
  options.stop = interrupted;  // after the step that is under way, with a checkpoint
  const bool other_limit = options.limits.source_tokens > 0 || options.limits.minutes > 0;
  if (other_limit && flags.steps->empty()) options.limits.steps = 0;
  // Without a known end the rate cannot run towards it.
  const bool no_end = options.limits.steps == 0 && options.limits.source_tokens == 0;
  if (no_end && options.limits.minutes > 0 && flags.schedule->empty())
    options.schedule.kind = ScheduleKind::Constant;
  end_on_signals();
  const auto communicator = make_communicator(options.device, launch);
  run_together(*communicator, [&] {
    const TrainingReport report = train(*communicator);
    if (communicator->rank() != 0) return;
    fmt::print("{}\n", flags.json ? report.json.dump() : report.text);
  });
}

std::string describe(const TrainingSummary& done, const std::filesystem::path& out) {
  std::string text =
      fmt::format("{}: {} {} steps, {} source tokens in {}, last loss {:.4f}, {}", out.string(),
                  done.finished() ? "finished" : "stopped after", done.step, done.source_tokens,
                  format_duration(std::chrono::seconds(static_cast<int64_t>(done.seconds))),
                  done.loss, done.pace.describe());
  if (done.end == TrainingEnd::Patience) text += "; validation no longer got better";
  if (done.skipped_steps > 0) text += fmt::format("; {} steps skipped", done.skipped_steps);
  if (done.best_validation) text += fmt::format("; best validation {:.4f}", *done.best_validation);
  if (!done.finished()) text += "; the same command goes on";
  return text;
}

}  // namespace convseq::cli
