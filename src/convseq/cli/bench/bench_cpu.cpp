#include <fmt/format.h>

#include "convseq/base/machine.h"
#include "convseq/bench/cpu/conv_kernel_speed.h"
#include "convseq/bench/cpu/cpu_peers.h"
#include "convseq/bench/cpu/matmul_speed.h"
#include "convseq/bench/cpu/random_model.h"
#include "convseq/cli/bench/bench_commands.h"
#include "convseq/cli/bench/bench_run.h"
#include "convseq/cli/options/options.h"
#include "convseq/runtime/cpu_engine.h"
#include "convseq/spec/parameter_list.h"

namespace convseq::cli {
namespace {

struct CpuFlags {
  BenchFlags common;
  BenchModels models;
  bench::CpuSpeedOptions options;
  int64_t threads = hardware_threads();
  std::filesystem::path peer;
};

std::unique_ptr<Engine> random_engine(const ModelConfig& config, CpuPrecision precision,
                                      int64_t threads) {
  bench::ParameterShapes shapes;
  for (const auto& [name, shape] : list_parameters(config)) shapes[name] = shape;
  const bench::TemporaryFolder folder;
  bench::write_random_model(folder.path(), config, shapes);
  return load_cpu_engine(folder.path(),
                         {.precision = precision, .threads = threads, .keeps_packed_file = false});
}

// "66% of smmla"
std::string shares_of(const bench::CpuSpeed& speed,
                      const std::vector<bench::InstructionPeak>& peaks) {
  std::string text;
  for (const bench::InstructionPeak& peak : peaks) {
    if (peak.precision != speed.precision || speed.new_tokens > 0) continue;
    text += fmt::format("{}{:.0f}% of {}", text.empty() ? "" : ", ",
                        100 * speed.gigaops_per_second() / peak.gigaops, peak.instruction);
  }
  return text;
}

void print_table(const std::vector<bench::CpuSpeed>& speeds,
                 const std::vector<bench::CpuPeer>& peers,
                 const std::vector<bench::InstructionPeak>& peaks,
                 const std::vector<bench::MatmulSpeed>& matmuls,
                 const bench::ConvKernelSpeed& conv) {
  for (const bench::InstructionPeak& peak : peaks) {
    fmt::print("{} peak: {:.1f} GOP/s ({})\n", name_of(peak.precision), peak.gigaops,
               peak.instruction);
  }
  for (const bench::MatmulSpeed& matmul : matmuls) {
    fmt::print("{} matmul, {} × {} × {}, one thread: {:.1f} GOP/s, {:.0f}% of {}\n",
               name_of(matmul.precision), matmul.rows, matmul.inputs, matmul.outputs,
               matmul.gigaops, 100 * matmul.gigaops / matmul.peak.gigaops, matmul.peak.instruction);
  }
  fmt::print(
      "copy: {:.1f} GB/s; light convolution, k = 7, fp32: {:.0f}% of it; with the gate: {:.0f}%\n",
      conv.copy, 100 * conv.light / conv.copy, 100 * conv.light_glu / conv.copy);
  fmt::print("{:<10} {:<9} {:>5} {:>6} {:>10} {:>12} {:>10} {:>8}  {}\n", "mixer", "precision",
             "batch", "length", "ms", "examples/s", "tokens/s", "GOP/s", "of peak");
  for (const bench::CpuSpeed& speed : speeds) {
    fmt::print("{:<10} {:<9} {:>5} {:>6} {:>10.2f} {:>12.2f} {:>10} {:>8.1f}  {}\n", speed.mixer,
               name_of(speed.precision), speed.batch, speed.length, speed.ms,
               speed.examples_per_second(),
               speed.new_tokens > 0 ? fmt::format("{:.1f}", speed.tokens_per_second()) : "",
               speed.gigaops_per_second(), shares_of(speed, peaks));
    for (const bench::Row& row : bench::rows_of(speed, peers)) {
      if (!row.ratio) continue;
      fmt::print("{:<10} {:.2f}× {} ({:.4g} {})\n", "", *row.ratio, row.peer, *row.peer_value,
                 row.unit);
    }
  }
}

std::vector<bench::CpuPeer> peers_of(const CpuFlags& flags) {
  if (flags.peer.empty()) return {};
  const auto peers = bench::read_cpu_peers(flags.peer);
  for (const bench::CpuPeer& peer : peers) {
    require(peer.threads == flags.threads, "{}: {} ran on {} threads; use --threads {}",
            flags.peer.string(), peer.name, peer.threads, peer.threads);
  }
  return peers;
}

void run(CpuFlags& flags) {
  bench::CpuSpeedOptions& options = flags.options;
  flags.common.device = DeviceChoice::Cpu;
  if (flags.models.names.empty()) flags.models.names = {"paper-light-small"};
  options.models = flags.models.configs(flags.common);
  options.make_engine = [&](const ModelConfig& config, CpuPrecision precision) {
    return random_engine(config, precision, flags.threads);
  };
  const auto peers = peers_of(flags);
  BenchRun run(flags.common, "bench cpu");
  options.watch = run.watch();
  bench::InstructionPeaks peaks(flags.threads);
  options.before_each = [&](CpuPrecision precision) { peaks.measure(precision); };
  const auto conv = bench::measure_conv_kernels(flags.threads, options.seconds);
  const auto matmuls = bench::measure_matmuls(options.precisions, options.seconds / 4);
  const auto speeds = bench::measure_cpu(options);
  std::vector<bench::Row> rows = bench::rows_of(conv);
  for (const bench::InstructionPeak& peak : peaks.peaks()) rows.push_back(row_of(peak));
  for (const bench::MatmulSpeed& matmul : matmuls) rows.push_back(row_of(matmul));
  for (const bench::CpuSpeed& speed : speeds) {
    for (bench::Row& row : bench::rows_of(speed, peers)) rows.push_back(std::move(row));
    for (bench::Row& row : peak_rows(speed, peaks.peaks())) rows.push_back(std::move(row));
  }
  run.finish(rows, [&] { print_table(speeds, peers, peaks.peaks(), matmuls, conv); });
}

}  // namespace

void add_bench_cpu(CLI::App& bench) {
  auto flags = std::make_shared<CpuFlags>();
  bench::CpuSpeedOptions& options = flags->options;
  CLI::App* command = bench.add_subcommand(
      "cpu", "Time the encoder with a pooled head and greedy generation on a CPU");
  add_model_flags(*command, flags->models, "paper-light-small");
  add_enums(*command, "--precision,--type", options.precisions, "Precision of the matmuls");
  add_counts(*command, "--lengths", options.lengths, "Tokens per example", {.max = kLongest});
  add_counts(*command, "--batches,--batch", options.batches, "Examples per batch",
             {.max = kMostRows});
  add_count(*command, "--max-tokens", options.max_tokens,
            "Maximum tokens per call; a batch with more has fewer rows", {.max = kMostRows});
  add_counts(*command, "--sequences", options.sequences, "Sequences generated at once",
             {.max = kMostRows});
  add_count(*command, "--source", options.source, "Source length of a generated sequence",
            {.max = kLongest});
  add_count(*command, "--new-tokens", options.new_tokens, "Tokens generated per sequence",
            {.max = kLongest});
  add_count(*command, "--threads", flags->threads, "Number of threads", {.max = kMostThreads});
  add_real(*command, "--seconds", options.seconds,
           "Time per measurement; the median call is reported", {.max = 3600});
  command->add_option("--peer", flags->peer, "Output of bench/peer_cpu.py to compare with")
      ->type_name("FILE");
  add_output_flags(*command, flags->common);
  command->footer(
      "The weights are random. \"of peak\" is the share of what the instruction of the matmuls can "
      "do on as many threads, measured in the same run. With --peer, each result is followed by "
      "its ratio to the fastest "
      "Transformer encoder, to the same graph in another runtime and, in fp32, to the fastest fp32 "
      "peer; for batches of one it is the ratio of the latencies.\nExample:\n  python3 "
      "bench/peer_cpu.py --threads 2 > peers.jsonl\n  convseq bench cpu --threads 2 --peer "
      "peers.jsonl --json bench/results/cpu.json");
  command->callback([flags] { run(*flags); });
}

}  // namespace convseq::cli
