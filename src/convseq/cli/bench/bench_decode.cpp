#include <fmt/format.h>

#include "convseq/bench/decode_speed.h"
#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/bench/bench_run.h"
#include "convseq/cli/bench/profile_flags.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

struct DecodeFlags {
  BenchFlags common;
  BenchModels models;
  bench::DecodeSpeedOptions options;
  ProfileFlags profile;
  std::optional<int64_t> batch, source;
};

void print_table(const std::vector<bench::DecodeSpeed>& speeds) {
  fmt::print("{:<10} {:>8} {:>11} {:>9} {:>9} {:>12} {:>12}\n", "mixer", "position", "tokens/s",
             "ms/step", "floor", "state", "source state");
  for (const bench::DecodeSpeed& speed : speeds) {
    fmt::print("{:<10} {:>8} {:>11.1f} {:>9.3f} {:>9.3f} {:>12} {:>12}\n", speed.mixer,
               speed.position, speed.tokens_per_second, speed.step_ms, speed.floor_ms,
               short_bytes(static_cast<double>(speed.state_bytes)),
               short_bytes(static_cast<double>(speed.source_bytes)));
  }
}

void print_decode_kernels(const bench::DecodeSpeed& speed) {
  constexpr size_t kWidth = 110;
  double ms = 0;
  int64_t launches = 0;
  for (const bench::KernelTime& kernel : speed.kernels) {
    ms += kernel.ms;
    launches += kernel.launches;
  }
  fmt::print("\n{} at {}: {} kernels, {:.3f} ms\n", speed.mixer, speed.position, launches, ms);
  for (const bench::KernelTime& kernel : speed.kernels) {
    fmt::print("  {:>9.4f} ms {:>4}×  {}\n", kernel.ms, kernel.launches,
               kernel.name.substr(0, kWidth));
  }
}

void run(DecodeFlags& flags) {
  bench::DecodeSpeedOptions& options = flags.options;
  options.device = device_of(flags.common.device);
  options.type = flags.common.type();
  options.max_memory = flags.common.max_memory;
  options.batch = or_default<int64_t>(flags.batch, flags.common, 1, 64);
  options.source = or_default<int64_t>(flags.source, flags.common, 64, options.source);
  if (options.positions.empty()) {
    const int64_t last = options.device.is_cuda() ? 2048 : 256;
    for (int64_t position = 16; position <= last; position *= 2) {
      options.positions.push_back(position);
    }
  }
  require(options.cache == KvCacheType::Auto || options.device.is_cuda(),
          "--kv-cache-dtype: {} needs a GPU, but the device is {}; use --device cuda",
          name_of(options.cache), options.device.str());
  options.models = flags.models.configs(flags.common);
  options.profile = flags.profile.wanted(options.device);
  BenchRun run(flags.common, "bench decode", {"speed", "state"});
  options.watch = run.watch();
  const auto speeds = bench::measure_decoding(options);
  run.finish(bench::rows_of(speeds), [&] {
    print_table(speeds);
    for (const bench::DecodeSpeed& speed : speeds) {
      if (!speed.kernels.empty()) print_decode_kernels(speed);
    }
  });
  run.draw("speed", bench::speed_plot(speeds));
  run.draw("state", bench::state_plot(speeds));
}

}  // namespace

void add_bench_decode(CLI::App& bench) {
  auto flags = std::make_shared<DecodeFlags>();
  bench::DecodeSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "decode", "Measure greedy decoding by position: tokens per second, bytes of decode state");
  add_model_flags(*command, flags->models);
  add_counts(*command, "--positions", options.positions,
             "Positions to measure at, ascending (default: 16, 32 … 256 on a CPU, … 2048 on a GPU)",
             {.max = kLongest});
  add_count(*command, "--batch", flags->batch,
            "Sequences per batch (default: 1 on a CPU, 64 on a GPU)", {.max = kMostRows});
  add_count(*command, "--source", flags->source,
            "Source length (default: 64 on a CPU, 512 on a GPU)", {.max = kLongest});
  add_enum(*command, "--kv-cache-dtype", options.cache,
           "Data type of the KV cache on a GPU (auto = that of the model)");
  command->add_flag("--profile", flags->profile.profile,
                    "GPU time and launches of each kernel in a step at the last position");
  add_plot_flag(*command, flags->common,
                "Plots FILE-speed.svg and FILE-state.svg, both axes logarithmic");
  add_bench_flags(*command, flags->common);
  command->footer(
      "Example:\n  convseq bench decode --models paper-light-base,paper-transformer-base --batch 8 "
      "--positions 64,512,2048");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
