#include "convseq/cli/options/training_flags.h"

#include <fmt/format.h>
#include <torch/cuda.h>

#include "convseq/base/counted.h"
#include "convseq/base/log.h"
#include "convseq/base/progress.h"
#include "convseq/cli/frame/config_file.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"
#include "convseq/train/step/precision.h"

namespace convseq::cli {
namespace {

constexpr CountRange kFromZero{.min = 0};
constexpr RealRange kAboveZero{.above_min = true};

void add_limit_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  flags.steps = add_count(command, "--steps", options.limits.steps, "Number of updates");
  if (options.limits.steps == 0) flags.steps->default_str("");
  add_count(command, "--tokens", options.limits.source_tokens, "Stop after this many source tokens")
      ->default_str("");
  add_real(command, "--minutes", options.limits.minutes, "Stop after this many minutes of training",
           kAboveZero)
      ->default_str("");
  add_count(command, "--patience", options.limits.patience,
            "Stop after this many validations without a better one (0 = never)", kFromZero);
}

void add_optimizer_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  add_enum(command, "--optimizer", options.optimizer.kind, "Optimizer");
  flags.schedule = add_enum(command, "--schedule", options.schedule.kind,
                            "Learning-rate schedule; constant where --minutes is the only limit");
  add_real(command, "--lr", options.schedule.learning_rate, "Peak learning rate", kAboveZero);
  add_count(command, "--warmup", options.schedule.warmup_steps,
            "Warm-up steps (default: a tenth of the steps, at most 100)", kFromZero)
      ->default_str("");
  add_count(command, "--decay", options.schedule.decay_steps,
            "Final steps with a linear decay of the learning rate to zero", kFromZero);
  add_real(command, "--weight-decay", options.optimizer.weight_decay, "Decoupled weight decay");
  add_real(command, "--clip", options.step.clip_norm, "Gradient-norm clip", kAboveZero);
  add_real(command, "--label-smoothing", options.step.label_smoothing, "Label smoothing",
           {.max = 0.999});
  add_real(command, "--z-loss", options.step.z_loss, "Weight of the z-loss, log(Z)²");
}

void add_interval_flags(CLI::App& command, TrainingOptions& options) {
  add_count(command, "--save-every", options.save_every, "Steps between checkpoints");
  add_count(command, "--validate-every", options.validate_every,
            "Steps between validations (0 = at the end; with finetune after each epoch)",
            kFromZero);
  add_count(command, "--log-every", options.log_every, "Steps between lines of metrics.jsonl");
  add_count(command, "--keep", options.keep, "Number of checkpoints to keep",
            {.max = 1'000'000'000});
}

}  // namespace

CLI::Option* add_device(CLI::App& command, DeviceChoice& choice) {
  return add_enum(command, "--device", choice, "Device; auto = a GPU where there is one");
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
    require(choice != DeviceChoice::Cuda, "--device cuda: no CUDA GPU found");
    return torch::kCPU;
  }
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank)};
}

void add_training_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  flags.command = &command;
  add_limit_flags(command, flags, options);
  add_optimizer_flags(command, flags, options);
  add_count(command, "--micro-batch", options.micro_batch_rows,
            "Examples per forward and backward pass of a process (0 = all)",
            {.min = 0, .max = kMostRows});
  command.add_flag("--recompute", options.step.recompute,
                   "Recompute activations in the backward pass: slower, much less memory");
  command.add_flag("!--no-graph", options.step.graph,
                   "Launch every step on a GPU anew instead of replaying a CUDA graph");
  add_enum(command, "--precision", flags.precision,
           "Precision of the model's arithmetic; with bf16 the master weights are fp32");
  add_device(command, flags.device);
  add_seed(command, options.seed, "Random seed of weights, data order and dropout");
  add_interval_flags(command, options);
  command.add_flag("!--no-best", options.keep_best, "Do not keep the model of the best validation");
  CLI::Option* fresh =
      command.add_flag("--fresh", flags.fresh, "Start anew and remove the folder's checkpoints");
  command.add_flag("--resume", "Continue from the newest checkpoint (the default)")
      ->excludes(fresh);
  command.add_flag("--dry-run", options.dry_run,
                   "Time a few steps, print steps, time, memory and disk space, write nothing");
  add_max_memory(command, options.max_memory_bytes);
  command.add_flag("!--quiet", options.progress, "No progress on standard error");
  command.add_flag("--json", flags.json, "Print the report as JSON");
}

void run_training(const TrainingFlags& flags, TrainingOptions& options,
                  const std::function<TrainingReport(Communicator&)>& train) {
  const Launch launch = find_launch();
  options.device = device_of(flags.device, launch.local_rank);
  options.compute = type_of(flags.precision);
  check_precision(options.device, options.compute);
  options.resume = !flags.fresh;
  options.stop = interrupted;  // after the step that is under way, with a checkpoint
  options.record = effective_options(*flags.command, {"steps", "schedule"});
  const bool other_limit = options.limits.source_tokens > 0 || options.limits.minutes > 0;
  if (other_limit && flags.steps->empty()) options.limits.steps = 0;
  // Without a known end the rate cannot run towards it.
  const bool no_end = options.limits.steps == 0 && options.limits.source_tokens == 0;
  if (no_end && options.limits.minutes > 0 && flags.schedule->empty())
    options.schedule.kind = ScheduleKind::Constant;
  if (launch.rank > 0) log::set_level(log::Level::Warning);  // the first speaks for all
  end_on_signals();
  bool stopped = false;
  {
    const auto communicator = make_communicator(options.device, launch);
    run_together(*communicator, [&] {
      const TrainingReport report = train(*communicator);
      stopped = report.stopped;
      if (communicator->rank() != 0) return;
      fmt::print("{}\n", flags.json ? report.json.dump() : report.text);
    });
  }
  if (stopped) throw Stopped(options.out.string() + ": stopped; the same command goes on");
}

std::string describe(const TrainingSummary& done, const std::filesystem::path& out) {
  if (done.plan) return fmt::format("{}: dry run: {}", out.string(), done.plan->describe());
  std::string text = fmt::format(
      "{}: {} {}, {} source tokens in {}, last loss {:.4f}", out.string(),
      done.finished() ? "finished" : "stopped after", counted(done.step, "step"),
      done.source_tokens, format_duration(std::chrono::seconds(static_cast<int64_t>(done.seconds))),
      done.loss);
  text += done.pace.source_tokens > 0 ? ", " + done.pace.describe() : "; no step was left to do";
  if (done.end == TrainingEnd::Patience) text += "; validation no longer got better";
  if (done.skipped_steps > 0) text += fmt::format("; {} steps skipped", done.skipped_steps);
  if (done.best_validation) text += fmt::format("; best validation {:.4f}", *done.best_validation);
  if (!done.finished()) text += "; the same command goes on";
  return text;
}

}  // namespace convseq::cli
