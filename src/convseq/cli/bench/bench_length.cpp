#include <fmt/format.h>

#include "convseq/bench/length_speed.h"
#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/bench/bench_run.h"
#include "convseq/cli/options/options.h"

namespace convseq::cli {
namespace {

struct LengthFlags {
  BenchFlags common;
  BenchModels models;
  bench::LengthSpeedOptions options;
  std::optional<int64_t> tokens;
};

void print_part(const bench::LengthSpeed& speed, const bench::LengthPart& part) {
  fmt::print(" {:>9.4g}", part.flops / static_cast<double>(speed.rows) / 1e12);
  if (!part.fits) {
    fmt::print(" {:>11} {:>10} {:>6} {:>9}", "no memory", "-", "-", "-");
    return;
  }
  fmt::print(" {:>11.0f} {:>10.4g} {:>5.1f}% {:>9}", speed.tokens_per_second(part),
             speed.examples_per_second(part), 100 * speed.utilisation(part),
             short_bytes(part.peak_bytes));
}

void print_table(const std::vector<bench::LengthSpeed>& speeds) {
  const std::string part = fmt::format("{:>9} {:>11} {:>10} {:>6} {:>9}", "TFLOP/ex.", "tokens/s",
                                       "examples/s", "FLOPs", "memory");
  fmt::print("{:<10} {:>6} | {:<49} | {:<49}\n", "", "", "encoder alone", "whole step");
  fmt::print("{:<10} {:>6} | {} | {}\n", "mixer", "length", part, part);
  for (const bench::LengthSpeed& speed : speeds) {
    fmt::print("{:<10} {:>6} |", speed.mixer, speed.length);
    print_part(speed, speed.encoder);
    fmt::print(" |");
    print_part(speed, speed.step);
    fmt::print("\n");
  }
  for (const bench::Row& row : bench::rows_of(speeds)) {
    if (row.unit == bench::kFlatnessUnit) bench::print(row);
  }
}

std::vector<int64_t> default_lengths(torch::Device device) {
  std::vector<int64_t> lengths;
  for (int64_t length = 64; length <= (device.is_cuda() ? 16384 : 1024); length *= 2) {
    lengths.push_back(length);
  }
  return lengths;
}

void run(LengthFlags& flags) {
  bench::LengthSpeedOptions& options = flags.options;
  options.training.device = device_of(flags.common.device);
  options.training.type = flags.common.type();
  options.training.max_memory = flags.common.max_memory;
  options.tokens = or_default<int64_t>(flags.tokens, flags.common, 1024, options.tokens);
  if (options.lengths.empty()) options.lengths = default_lengths(options.training.device);
  options.models = flags.models.configs(flags.common);
  BenchRun run(flags.common, "bench length", {"speed", "flops"});
  options.watch = run.watch();
  const auto speeds = bench::measure_lengths(options);
  run.finish(bench::rows_of(speeds), [&] { print_table(speeds); });
  run.draw("speed", bench::speed_plot(speeds));
  run.draw("flops", bench::flops_plot(speeds));
}

}  // namespace

void add_bench_length(CLI::App& bench) {
  auto flags = std::make_shared<LengthFlags>();
  bench::LengthSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "length",
      "Measure speed, FLOPs and memory by source length, as in the paper's Figures 1 and 2");
  add_model_flags(*command, flags->models);
  add_counts(*command, "--lengths", options.lengths,
             "Source lengths (default: 64, 128 … 1024 on a CPU, … 16384 on a GPU)",
             {.max = kLongest});
  add_count(*command, "--tokens", flags->tokens,
            "Source tokens per step, at every length (default: 1024 on a CPU, 32768 on a GPU)",
            {.max = kMostRows});
  add_rounds(*command, options.timing.rounds);
  add_plot_flag(*command, flags->common,
                "Plots FILE-speed.svg and FILE-flops.svg, both axes logarithmic");
  add_bench_flags(*command, flags->common);
  command->footer(
      "Example:\n  convseq bench length --models paper-light-tiny,paper-transformer-tiny --lengths "
      "64,256,1024 --plot length.svg");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
