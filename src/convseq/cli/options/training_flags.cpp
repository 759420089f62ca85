#include "convseq/cli/options/training_flags.h"

#include <fmt/format.h>
#include <torch/cuda.h>

#include <mutex>

#include "convseq/base/counted.h"
#include "convseq/base/log.h"
#include "convseq/base/progress.h"
#include "convseq/cli/frame/config_file.h"
#include "convseq/cli/frame/flag_spelling.h"
#include "convseq/cli/options/options.h"
#include "convseq/cli/signals.h"
#include "convseq/kernels/device.h"
#include "convseq/train/step/precision.h"

namespace convseq::cli {
namespace {

constexpr CountRange kFromZero{.min = 0};
constexpr RealRange kAboveZero{.above_min = true};

void add_limit_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  flags.steps =
      add_count(command, "--steps", options.limits.steps, "Maximum number of optimizer steps");
  if (options.limits.steps == 0) flags.steps->default_str("");
  add_count(command, "--tokens", options.limits.source_tokens, "Maximum number of source tokens")
      ->default_str("");
  add_real(command, "--minutes", options.limits.minutes, "Maximum training time in minutes",
           kAboveZero)
      ->default_str("");
  add_count(command, "--patience", options.limits.patience,
            "Early stopping after N validations without improvement (0 = never)", kFromZero);
}

void add_optimizer_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  add_enum(command, "--optimizer", options.optimizer.kind,
           "Optimizer (adamw_rms = AdamW with each step scaled by the RMS of its parameter)");
  flags.schedule = add_enum(command, "--schedule", options.schedule.kind,
                            "Learning-rate schedule (constant if --minutes is the only limit)");
  add_real(command, "--lr", options.schedule.learning_rate, "Peak learning rate", kAboveZero);
  add_count(command, "--warmup", options.schedule.warmup_steps,
            "Warm-up steps (default: a tenth of the steps, at most 100)", kFromZero)
      ->default_str("");
  add_count(command, "--decay", options.schedule.decay_steps,
            "Number of final steps in which the learning rate decays linearly to zero", kFromZero);
  add_real(command, "--weight-decay", options.optimizer.weight_decay, "Decoupled weight decay");
  add_real(command, "--clip", options.step.clip_norm,
           "Maximum gradient norm; larger gradients are scaled down to it", kAboveZero);
  add_real(command, "--label-smoothing", options.step.label_smoothing, "Label smoothing",
           {.max = 0.999});
  add_real(command, "--z-loss", options.step.z_loss, "Weight of the z-loss, log(Z)²");
}

void add_interval_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  flags.save_every =
      add_count(command, "--save-every", options.save_every,
                "Steps between checkpoints (without this option also at least a minute apart)");
  add_count(
      command, "--validate-every", options.validate_every,
      "Steps between validations (0 = for pre-training only at the end, for fine-tuning after "
      "every epoch and at least every 1,000 steps)",
      kFromZero);
  add_count(command, "--log-every", options.log_every, "Steps between lines of metrics.jsonl");
  add_count(command, "--keep", options.keep, "Number of checkpoints to keep",
            {.max = 1'000'000'000});
}

// Why libtorch uses none of this machine's GPUs; empty: there is none.
std::string why_no_gpu() {
  if (std::string problem = kernels::cuda_problem(); !problem.empty()) return problem;
  const auto gpus = kernels::cuda_devices();
  if (gpus.empty()) return "";
  return fmt::format("libtorch cannot use the {}; see `convseq version`", gpus.front().name);
}

}  // namespace

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
  if (torch::cuda::is_available()) {
    return {torch::kCUDA, static_cast<torch::DeviceIndex>(local_rank)};
  }
  static const std::string why = why_no_gpu();
  require(choice != DeviceChoice::Cuda, "--device cuda: {}",
          why.empty() ? "no CUDA GPU found" : why);
  static std::once_flag told;
  if (!why.empty()) std::call_once(told, [] { log::warning("using the CPU: {}", why); });
  return torch::kCPU;
}

void add_training_flags(CLI::App& command, TrainingFlags& flags, TrainingOptions& options) {
  flags.command = &command;
  add_limit_flags(command, flags, options);
  add_optimizer_flags(command, flags, options);
  add_count(command, "--micro-batch", options.micro_batch_rows,
            "Micro-batch size per process, for gradient accumulation (0 = the whole batch)",
            {.min = 0, .max = kMostRows});
  command.add_flag("--recompute", options.step.recompute,
                   "Activation recomputation (gradient checkpointing): slower, much less memory");
  command.add_flag("!--no-graph", options.step.graph,
                   "Do not capture and replay the training step as a CUDA graph");
  add_enum(command, "--precision", flags.precision,
           flags.usual_on_gpu == Precision::Bf16
               ? "Compute precision (bf16 keeps fp32 master weights; default: bf16 on a GPU, fp32 "
                 "on a CPU)"
               : "Compute precision (bf16 keeps fp32 master weights; default: fp32)");
  add_device(command, flags.device);
  add_seed(command, options.seed, "Random seed of weights, data order and dropout");
  add_interval_flags(command, flags, options);
  command.add_flag("!--no-best", options.keep_best, "Do not keep the best model by validation");
  CLI::Option* fresh = command.add_flag(
      "--fresh", flags.fresh, "Start over and delete the checkpoints in the output folder");
  // Not add_flag(name, description): g++ in C++20 finds two such functions in CLI11 2.1.
  command.add_flag("--resume")
      ->description("Continue from the newest checkpoint (the default)")
      ->excludes(fresh);
  command.add_flag("--dry-run", options.dry_run,
                   "Estimate steps, time, memory and disk space from a few steps; write nothing");
  add_max_memory(command, options.max_memory_bytes);
  command.add_flag("!--quiet", options.progress, "Hide progress and info messages");
  command.add_flag("--json", flags.json, "Print the report as JSON");
}

void run_training(const TrainingFlags& flags, TrainingOptions& options,
                  const std::function<TrainingReport(Communicator&)>& train) {
  const Launch launch = find_launch();
  options.device = device_of(flags.device, launch.local_rank);
  options.compute = type_of(
      flags.precision.value_or(options.device.is_cuda() ? flags.usual_on_gpu : Precision::Fp32));
  check_precision(options.device, options.compute);
  options.resume = !flags.fresh;
  options.save_seconds = flags.save_every->empty() ? 60 : 0;
  options.stop = interrupted;  // after the step that is under way, with a checkpoint
  options.record = effective_options(*flags.command, flags.only_if_given);
  for (const char* of_one_call : {"fresh", "resume"}) options.record.erase(of_one_call);
  const bool other_limit = options.limits.source_tokens > 0 || options.limits.minutes > 0;
  if (other_limit && flags.steps->empty()) options.limits.steps = 0;
  // Without a known end the rate cannot run towards it.
  const bool no_end = options.limits.steps == 0 && options.limits.source_tokens == 0;
  if (no_end && options.limits.minutes > 0 && flags.schedule->empty())
    options.schedule.kind = ScheduleKind::Constant;
  // The first process logs for all of them.
  if (launch.rank > 0 || !options.progress) log::set_level(log::Level::Warning);
  end_on_signals();
  bool stopped = false;
  {
    const auto communicator = make_communicator(options.device, launch);
    const auto part = [&] {
      const TrainingReport report = train(*communicator);
      stopped = report.stopped;
      if (communicator->rank() != 0) return;
      fmt::print("{}\n", flags.json ? report.json.dump() : report.text);
    };
    const auto describe_exception = [&](const std::exception& error) -> std::string {
      const auto* ours = dynamic_cast<const Error*>(&error);
      return ours != nullptr ? message_for(*ours, *flags.command) : error.what();
    };
    run_together(*communicator, part, describe_exception);
  }
  if (stopped) {
    throw Stopped(fmt::format("{}: stopped; run the same command again{} to resume",
                              options.out.string(), flags.fresh ? " without --fresh" : ""));
  }
}

std::string describe(const TrainingSummary& done, const std::filesystem::path& out) {
  if (done.plan) return fmt::format("{}: dry run: {}", out.string(), done.plan->describe());
  std::string text = fmt::format(
      "{}: {} {}, {} source tokens in {}, last loss {:.4f}", out.string(),
      done.finished() ? "finished" : "stopped after", counted(done.step, "step"),
      done.source_tokens, format_duration(std::chrono::seconds(static_cast<int64_t>(done.seconds))),
      done.loss);
  text += done.pace.source_tokens > 0 ? ", " + done.pace.describe() : "; no steps were left to do";
  if (done.end == TrainingEnd::Patience) text += "; stopped early: validation no longer improved";
  if (done.skipped_steps > 0) text += fmt::format("; {} steps skipped", done.skipped_steps);
  if (done.best_validation) text += fmt::format("; best validation {:.4f}", *done.best_validation);
  if (!done.finished()) text += "; run the same command again to resume";
  return text;
}

}  // namespace convseq::cli
