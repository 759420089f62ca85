#pragma once

#include <filesystem>
#include <map>

#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/step_profile.h"
#include "convseq/bench/step_work.h"
#include "convseq/bench/timing.h"
#include "convseq/bench/training_model.h"
#include "convseq/bench/watch.h"

namespace convseq::bench {

struct StepSpeedOptions {
  TrainingModelOptions training;
  std::vector<ModelConfig> models;
  Workload work;
  int64_t tokens = 32768;  // source tokens per step
  double padding = 0;
  bool matmuls = true;   // time them alone, and measure the copy bandwidth
  bool profile = false;  // profile more steps by kernel, on a GPU
  // The third step is captured, the fourth replayed.
  TimingOptions timing{.rounds = 5, .round_ms = 1000, .warm_ups = 4};
  Watch watch = go_on;
};

struct TimedMatmul {
  std::string what;  // "32768 × 768 × 1536"
  int64_t count = 0;
  double ms = 0;  // of all counts
  double flops = 0;
};

struct StepSpeed {
  std::string name;  // "train_step_light_512"
  int64_t rows = 0;
  int64_t source_tokens = 0;
  double ms = 0;
  double flops = 0;
  double flops_ceiling = 0;  // FLOP/s of a large matmul in the same run
  double peak_bytes = 0;
  std::vector<TimedMatmul> matmuls;
  std::vector<std::pair<std::string, double>> rest_bytes;
  double copy_bandwidth = 0;
  std::vector<KernelTime> kernels;  // of one step, where it was profiled

  double tokens_per_second() const { return 1e3 * static_cast<double>(source_tokens) / ms; }
  double utilisation() const { return 1e3 * flops / ms / flops_ceiling; }
  double matmuls_ms() const;
  double rest_ms() const;  // floor of the rest: its bytes at the copy bandwidth
  double floor_ms() const { return matmuls_ms() + rest_ms(); }
};

// A model that cannot be measured is logged and skipped.
std::vector<StepSpeed> measure_steps(const StepSpeedOptions& options);

// The output of bench/peer_step.py, one JSON object per line; the fastest mode of each name.
struct PeerStep {
  std::string mode;
  double tokens_per_second = 0;
  double peak_gib = 0;  // 0: not known
};
std::map<std::string, PeerStep> read_peers(const std::filesystem::path& path);

std::vector<Row> rows_of(const StepSpeed& speed, const std::map<std::string, PeerStep>& peers);

}  // namespace convseq::bench
