#include "convseq/bench/cpu/instruction_peak.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "convseq/runtime/cpu_model.h"

namespace convseq::bench {
namespace {

// Repetitions are short, so that some run undisturbed. All of them take long enough for a busy
// system to move the threads to different cores.
constexpr double kRepetitionSeconds = 5e-4, kSeconds = 0.04;

}  // namespace

// From when all threads are there, so that each runs the loop once, until the last one has ended.
double InstructionPeaks::seconds_of(const kernels::MatmulInstruction& instruction, int64_t times) {
  using Clock = std::chrono::steady_clock;
  std::atomic<int64_t> missing = pool_.threads();
  std::vector<Clock::time_point> starts(static_cast<size_t>(pool_.threads()));
  pool_.run(pool_.threads(), [&](int64_t task, int64_t) {
    missing.fetch_sub(1);
    while (missing.load() > 0) continue;  // a thread that yielded could come back late
    starts[static_cast<size_t>(task)] = Clock::now();
    instruction.repeat(times);
  });
  const auto start = *std::min_element(starts.begin(), starts.end());
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double InstructionPeaks::gigaops(const kernels::MatmulInstruction& instruction) {
  int64_t times = 1024;
  while (seconds_of(instruction, times) < kRepetitionSeconds) times *= 2;
  double best = seconds_of(instruction, times), spent = best;
  while (spent < kSeconds) {
    const double seconds = seconds_of(instruction, times);
    best = std::min(best, seconds);
    spent += seconds;
  }
  return 1e-9 * static_cast<double>(pool_.threads() * times * instruction.operations) / best;
}

InstructionPeak& InstructionPeaks::peak_of(CpuPrecision precision, const std::string& instruction) {
  for (InstructionPeak& peak : peaks_) {
    if (peak.precision == precision && peak.instruction == instruction) return peak;
  }
  return peaks_.emplace_back(InstructionPeak{.precision = precision, .instruction = instruction});
}

void InstructionPeaks::measure(CpuPrecision precision) {
  for (const auto& instruction : kernels::matmul_instructions(
           weight_type(precision, kernels::WeightType::Fp32), kernels::default_cpu_level())) {
    InstructionPeak& peak = peak_of(precision, instruction.name);
    peak.gigaops = std::max(peak.gigaops, gigaops(instruction));
  }
}

Row row_of(const InstructionPeak& peak) {
  return {.name = fmt::format("peak_{}_{}", name_of(peak.precision), peak.instruction),
          .value = peak.gigaops,
          .unit = "GOP/s"};
}

std::vector<Row> peak_rows(const CpuSpeed& speed, const std::vector<InstructionPeak>& peaks) {
  std::vector<Row> rows;
  if (speed.new_tokens > 0) return rows;
  for (const InstructionPeak& peak : peaks) {
    if (peak.precision != speed.precision) continue;
    Row& row =
        rows.emplace_back(Row{.name = fmt::format("{}_of_{}", row_name(speed), peak.instruction),
                              .value = speed.gigaops_per_second(),
                              .unit = "GOP/s",
                              .floor = peak.gigaops});
    row.ratio = row.value / peak.gigaops;
  }
  return rows;
}

}  // namespace convseq::bench
