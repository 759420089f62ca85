#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "bench/conv_speed.h"
#include "cli/bench_commands.h"
#include "cli/bench_run.h"
#include "cli/options.h"

namespace convseq::cli {
namespace {

struct Flags {
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

void run(Flags& flags) {
  bench::ConvSpeedOptions& options = flags.options;
  options.device = device_of(flags.common.device);
  options.type = flags.common.type();
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

void add_positive(CLI::App& command, const char* name, int64_t& value, const char* text) {
  command.add_option(name, value, text)->check(kPositive)->capture_default_str();
}

}  // namespace

void add_bench_ops(CLI::App& bench) {
  auto flags = std::make_shared<Flags>();
  bench::ConvSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "ops", "The convolutions, forward and backward, against moving their bytes once");
  add_enums(*command, "--ops", options.ops, "Which");
  command->add_option("--kernels", flags->kernels, "Kernel sizes; else 7, on a GPU 7,15,31")
      ->delimiter(',')
      ->check(kPositive);
  command->add_option("--batch", flags->batch, "Sequences; else 8, on a GPU 64")->check(kPositive);
  add_positive(*command, "--time", options.time, "Length of each");
  add_positive(*command, "--channels", options.channels, "Channels");
  add_positive(*command, "--heads", options.heads, "Taps are shared by channels/heads channels");
  add_positive(*command, "--dilation", options.dilation, "Of dilated_conv");
  command->add_option("--rounds", options.timing.rounds, "Medians of so many counts")
      ->check(kPositive)
      ->capture_default_str();
  command
      ->add_option("--cache-mb", flags->cache_mb,
                   "Buffers rotate beyond so many MiB; else beyond the largest cache")
      ->check(kPositive);
  command->add_flag("!--no-peers", options.peers, "Leave out libtorch's own convolutions");
  add_bench_flags(*command, flags->common);
  command->footer(
      "×floor: time against moving every input and output once at the copy bandwidth of this run."
      "\nExample:\n  convseq bench ops --device cuda --kernels 7,15,31 --json "
      "bench/results/ops-h200.json");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
