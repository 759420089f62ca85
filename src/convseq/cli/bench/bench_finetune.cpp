#include <fmt/format.h>

#include "convseq/bench/finetune/finetune_speed.h"
#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/bench/bench_run.h"
#include "convseq/cli/bench/profile_flags.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

struct FinetuneSpeedFlags {
  BenchFlags common;
  BenchModels models;
  bench::FinetuneSpeedOptions options;
  std::optional<int64_t> steps;
  std::filesystem::path peer, shapes;
  ProfileFlags profile;
};

void print_table(const std::vector<bench::FinetuneSpeed>& speeds,
                 const std::map<int64_t, bench::PeerFinetune>& peers,
                 const FinetuneSpeedFlags& flags) {
  fmt::print("{:<26} {:>8} {:>10} {:>8} {:>8} {:>7} {:>8} {:>7} {:>9} {:>9}  {}\n", "model",
             "steps/s", "examples/s", "ms", "floor ms", "×floor", "padding", "shapes", "replayed",
             "capture s", "peer");
  for (const bench::FinetuneSpeed& speed : speeds) {
    const CaptureTotals& captures = speed.captures;
    fmt::print(
        "{:<26} {:>8.1f} {:>10.0f} {:>8.3f} {:>8.3f} {:>7.2f} {:>7.1f}% {:>7} {:>9} {:>9.2f}",
        speed.name, speed.steps_per_second(), speed.examples * speed.steps_per_second(), speed.ms,
        speed.floor_ms(), speed.ms / speed.floor_ms(), 100 * speed.padding, speed.shapes,
        captures.replayed, captures.seconds);
    if (const auto peer = peers.find(speed.d_model); peer != peers.end()) {
      fmt::print("  {:.2f}× Hugging Face T5, {}",
                 speed.steps_per_second() / peer->second.steps_per_second, peer->second.mode);
    }
    fmt::print("\n");
  }
  for (const bench::FinetuneSpeed& speed : speeds) {
    if (flags.options.profile) print_profile(speed.name, speed.kernels, speed.ms, flags.profile);
  }
}

void write_shapes(const FinetuneSpeedFlags& flags) {
  OutputFile file(flags.shapes);
  file.write(bench::finetune_shapes(flags.options.batches).dump() + "\n");
  file.commit();
}

void run(FinetuneSpeedFlags& flags) {
  bench::FinetuneSpeedOptions& options = flags.options;
  options.batches.steps = or_default<int64_t>(flags.steps, flags.common, 10, options.batches.steps);
  if (!flags.shapes.empty()) return write_shapes(flags);
  options.training.device = device_of(flags.common.device);
  options.training.type = flags.common.type();
  options.training.max_memory = flags.common.max_memory;
  options.training.step.capture.max_graphs = options.batches.ladder.max_shapes;
  options.profile = flags.profile.wanted(options.training.device);
  if (flags.models.names.empty()) {
    const std::string size = options.training.device.is_cuda() ? "small" : "tiny";
    flags.models.names = {"paper-light-" + size, "paper-transformer-" + size};
  }
  options.models = flags.models.configs(flags.common);
  std::map<int64_t, bench::PeerFinetune> peers;
  if (!flags.peer.empty()) peers = bench::read_finetune_peers(flags.peer);
  BenchRun run(flags.common, "bench finetune");
  options.watch = run.watch();
  const auto speeds = bench::measure_finetuning(options);
  std::vector<bench::Row> rows;
  for (const bench::FinetuneSpeed& speed : speeds) {
    for (bench::Row& row : bench::rows_of(speed, peers)) rows.push_back(std::move(row));
  }
  run.finish(rows, [&] { print_table(speeds, peers, flags); });
  require(speeds.size() == options.models.size(), "bench finetune: {} of {} models were measured",
          speeds.size(), options.models.size());
}

}  // namespace

void add_bench_finetune(CLI::App& bench) {
  auto flags = std::make_shared<FinetuneSpeedFlags>();
  bench::FinetuneSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "finetune", "Time fine-tuning on random sentences as long as those of SST-2");
  add_model_flags(*command, flags->models, "light and transformer, small on a GPU, tiny on a CPU");
  add_count(*command, "--batch", options.batches.rows, "Examples per batch", {.max = kMostRows});
  add_count(*command, "--steps", flags->steps,
            "Steps per epoch, which is one timing (default: 10 on a CPU, 300 on a GPU)",
            {.max = 10'000});
  add_rounds(*command, options.rounds);
  add_enum(*command, "--optimizer", options.training.optimizer.kind, "Optimizer");
  add_count(*command, "--max-shapes", options.batches.ladder.max_shapes,
            "Maximum number of shapes that batches are padded to, one CUDA graph each",
            {.max = kMostRows});
  command->add_flag("!--no-graph", options.training.step.graph,
                    "Do not capture and replay training steps as CUDA graphs, and do not pad "
                    "batches to few shapes");
  command->add_flag("--tune-matmuls", options.training.step.capture.tune_matmuls,
                    "Time several algorithms for the matmuls of each shape before its capture");
  command
      ->add_option("--shapes", flags->shapes,
                   "Write the shapes of the batches of an epoch for bench/peer_finetune.py, and "
                   "measure nothing")
      ->type_name("FILE");
  command->add_option("--peer", flags->peer, "Output of bench/peer_finetune.py to compare with")
      ->type_name("FILE");
  add_profile_flags(*command, flags->profile);
  add_bench_flags(*command, flags->common);
  command->footer(
      "×floor: measured time over the time of the arithmetic without padding at the rate of a "
      "large matmul plus the time to move the optimizer's bytes.\nExample:\n  convseq bench "
      "finetune --shapes shapes.json\n  python3 bench/peer_finetune.py shapes.json > peer.jsonl\n"
      "  convseq bench finetune --device cuda --peer peer.jsonl --json "
      "bench/results/finetune-h200.json");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
