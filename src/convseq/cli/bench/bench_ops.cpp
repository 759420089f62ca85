#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "convseq/bench/conv_speed.h"
#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/bench/bench_run.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

struct OpsFlags {
  BenchFlags common;
  bench::ConvSpeedOptions options;
  std::optional<int64_t> batch;
  std::vector<int64_t> kernels;
  int64_t cache_mb = 0;
};

void print_table(const std::vector<bench::ConvSpeed>& speeds,
                 const bench::ConvSpeedOptions& options) {
  fmt::print("B={} T={} C={} H={} {}{}, copy {:.4g} GB/s\n", options.batch, options.time,
             options.channels, options.heads, c10::toString(options.type),
             options.device.is_cpu() ? fmt::format(", {} threads", at::get_num_threads()) : "",
             bench::median_copy_bandwidth(speeds) / 1e9);
  fmt::print("{:<34} {:>9} {:>9} {:>7} {:>6} {:>9} {:>7} {:>9} {:>7}\n", "op", "ms", "bytes",
             "GB/s", "copy", "floor ms", "×floor", "peer ms", "×peer");
  for (const bench::ConvSpeed& speed : speeds) {
    fmt::print("{:<34} {:>9.4f} {:>9} {:>7.4g} {:>5.1f}% {:>9.4f} {:>7.2f}", speed.name, speed.ms,
               short_bytes(speed.bytes), speed.bandwidth() / 1e9,
               100 * speed.bandwidth() / speed.copy_bandwidth, speed.floor_ms(),
               speed.ms / speed.floor_ms());
    if (speed.peer_ms) fmt::print(" {:>9.4f} {:>7.2f}", *speed.peer_ms, *speed.peer_ms / speed.ms);
    fmt::print("\n");
  }
}

void run(OpsFlags& flags) {
  bench::ConvSpeedOptions& options = flags.options;
  options.device = device_of(flags.common.device);
  options.type = flags.common.type();
  options.max_memory = flags.common.max_memory;
  options.batch = or_default<int64_t>(flags.batch, flags.common, 8, 64);
  options.kernels = flags.kernels;
  if (options.kernels.empty()) {
    options.kernels =
        options.device.is_cuda() ? std::vector<int64_t>{7, 15, 31} : std::vector<int64_t>{7};
  }
  options.cache = flags.cache_mb > 0 ? flags.cache_mb << 20 : bench::cache_bytes(options.device);
  BenchRun run(flags.common, "bench ops");
  options.watch = run.watch();
  const auto speeds = bench::measure_convs(options);
  auto rows = bench::rows_of(speeds);
  if (options.device.is_cpu()) {
    const int threads = at::get_num_threads();
    rows.push_back({.name = "threads", .value = static_cast<double>(threads), .unit = "threads"});
  }
  run.finish(rows, [&] { print_table(speeds, options); });
}

}  // namespace

void add_bench_ops(CLI::App& bench) {
  auto flags = std::make_shared<OpsFlags>();
  bench::ConvSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "ops", "Time the convolutions, forward and backward, against the copy bandwidth");
  add_enums(*command, "--ops", options.ops, "Convolutions to measure");
  add_counts(*command, "--kernels", flags->kernels,
             "Kernel sizes (default: 7 on a CPU, 7,15,31 on a GPU)", {.max = kLongest});
  add_count(*command, "--batch", flags->batch,
            "Sequences per batch (default: 8 on a CPU, 64 on a GPU)", {.max = kMostRows});
  add_count(*command, "--time", options.time, "Sequence length", {.max = kLongest});
  add_count(*command, "--channels", options.channels, "Number of channels", {.max = kLongest});
  add_count(*command, "--heads", options.heads,
            "Convolution heads; channels/heads channels share one kernel", {.max = kLongest});
  add_count(*command, "--dilation", options.dilation, "Dilation of dilated_conv",
            {.max = kLongest});
  add_rounds(*command, options.timing.rounds);
  add_count(*command, "--cache-mb", flags->cache_mb,
            "Size of the rotated buffers in MiB (default: the largest cache)", {.max = 1 << 20})
      ->default_str("");
  command->add_flag("!--no-peers", options.peers, "Skip libtorch's own convolutions");
  add_bench_flags(*command, flags->common);
  command->footer(
      "×floor: measured time over the time to move every input and output once at the copy "
      "bandwidth of this run."
      "\nExample:\n  convseq bench ops --device cuda --kernels 7,15,31 --json "
      "bench/results/ops-h200.json");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
