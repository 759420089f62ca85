#include <fmt/format.h>

#include "convseq/bench/step_speed.h"
#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/bench/bench_run.h"
#include "convseq/cli/bench/profile_flags.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

struct StepFlags {
  BenchFlags common;
  BenchModels models;
  bench::StepSpeedOptions options;
  std::optional<int64_t> tokens, source, target;
  std::filesystem::path peer;
  bool detail = false;
  ProfileFlags profile;
};

void print_detail(const bench::StepSpeed& speed) {
  fmt::print("\n{}: matmuls alone, forward and backward\n", speed.name);
  for (const bench::TimedMatmul& matmul : speed.matmuls) {
    fmt::print("  {:<32} ×{:<4} {:>9.3f} ms {:>8.4g} TFLOP/s\n", matmul.what, matmul.count,
               matmul.ms, matmul.flops / matmul.ms / 1e9);
  }
  fmt::print("{}: the rest, at {:.4g} GB/s\n", speed.name, speed.copy_bandwidth / 1e9);
  for (const auto& [part, bytes] : speed.rest_bytes) {
    fmt::print("  {:<38} {:>9.3f} ms {:>12}\n", part, 1e3 * bytes / speed.copy_bandwidth,
               short_bytes(bytes));
  }
}

void print_table(const std::vector<bench::StepSpeed>& speeds,
                 const std::map<std::string, bench::PeerStep>& peers, const StepFlags& flags) {
  fmt::print("{:<28} {:>11} {:>10} {:>9} {:>6} {:>9} {:>9} {:>8} {:>7}  {}\n", "step", "tokens/s",
             "examples/s", "ms", "FLOPs", "memory", "matmuls", "+ rest", "×floor", "peer");
  for (const bench::StepSpeed& speed : speeds) {
    fmt::print("{:<28} {:>11.0f} {:>10.1f} {:>9.2f} {:>5.1f}% {:>9}", speed.name,
               speed.tokens_per_second(), 1e3 * static_cast<double>(speed.rows) / speed.ms,
               speed.ms, 100 * speed.utilisation(), short_bytes(speed.peak_bytes));
    if (!speed.matmuls.empty()) {
      fmt::print(" {:>9.2f} {:>8.2f} {:>7.2f}", speed.matmuls_ms(), speed.rest_ms(),
                 speed.ms / speed.floor_ms());
    }
    if (const auto peer = peers.find(speed.name); peer != peers.end()) {
      fmt::print("  {:.2f}× PyTorch {}", speed.tokens_per_second() / peer->second.tokens_per_second,
                 peer->second.mode);
    }
    fmt::print("\n");
  }
  for (const bench::StepSpeed& speed : speeds) {
    if (flags.detail && !speed.matmuls.empty()) print_detail(speed);
    if (flags.options.profile) print_profile(speed.name, speed.kernels, speed.ms, flags.profile);
  }
}

void run(StepFlags& flags) {
  bench::StepSpeedOptions& options = flags.options;
  options.training.device = device_of(flags.common.device);
  options.training.type = flags.common.type();
  options.training.max_memory = flags.common.max_memory;
  options.work.source = or_default<int64_t>(flags.source, flags.common, 64, options.work.source);
  options.work.target = or_default<int64_t>(flags.target, flags.common, 16, options.work.target);
  options.tokens = or_default<int64_t>(flags.tokens, flags.common, 512, options.tokens);
  options.models = flags.models.configs(flags.common);
  options.profile = flags.profile.wanted(options.training.device);
  std::map<std::string, bench::PeerStep> peers;
  if (!flags.peer.empty()) peers = bench::read_peers(flags.peer);
  BenchRun run(flags.common, "bench step");
  options.watch = run.watch();
  const auto speeds = bench::measure_steps(options);
  std::vector<bench::Row> rows;
  for (const bench::StepSpeed& speed : speeds) {
    for (bench::Row& row : bench::rows_of(speed, peers)) rows.push_back(std::move(row));
  }
  run.finish(rows, [&] { print_table(speeds, peers, flags); });
  require(speeds.size() == options.models.size(), "bench step: {} of {} models were measured",
          speeds.size(), options.models.size());
}

}  // namespace

void add_bench_step(CLI::App& bench) {
  auto flags = std::make_shared<StepFlags>();
  bench::StepSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "step", "Time a training step on random tokens against its matmuls and memory traffic");
  add_model_flags(*command, flags->models);
  add_count(*command, "--source", flags->source,
            "Source length (default: 64 on a CPU, 512 on a GPU)", {.max = kLongest});
  add_count(*command, "--target", flags->target,
            "Target length (default: 16 on a CPU, 114 on a GPU)", {.max = kLongest});
  add_count(*command, "--tokens", flags->tokens,
            "Source tokens per step (default: 512 on a CPU, 32768 on a GPU)", {.max = kMostRows});
  add_real(*command, "--padding", options.padding,
           "Fraction of padding in the sources (0 = no padding, no masks)", {.max = 0.499});
  add_enum(*command, "--optimizer", options.training.optimizer.kind, "Optimizer");
  command->add_flag("--recompute", options.training.step.recompute,
                    "Activation recomputation (gradient checkpointing)");
  add_rounds(*command, options.timing.rounds);
  add_real(*command, "--round-ms", options.timing.round_ms,
           "Duration of each timing in milliseconds", {.max = 1e6, .above_min = true});
  command->add_option("--peer", flags->peer, "Output of bench/peer_step.py to compare with")
      ->type_name("FILE");
  command->add_flag("!--no-matmuls", options.matmuls, "Skip timing the matmuls alone");
  command->add_flag("--detail", flags->detail,
                    "List every matmul and the bytes of every other part");
  command->add_flag("!--no-graph", options.training.step.graph,
                    "Do not capture and replay the training step as a CUDA graph");
  add_profile_flags(*command, flags->profile);
  add_bench_flags(*command, flags->common);
  command->footer(
      "×floor: measured time over the time of its matmuls alone plus the time to move the bytes of "
      "the rest once.\nExample:\n  python3 bench/peer_step.py > peer.jsonl\n  convseq bench step "
      "--device "
      "cuda --peer peer.jsonl --json bench/results/step-h200.json");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
