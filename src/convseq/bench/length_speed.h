#pragma once

#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/plot.h"
#include "convseq/bench/timing.h"
#include "convseq/bench/training_model.h"
#include "convseq/bench/watch.h"
#include "convseq/spec/flops.h"

namespace convseq::bench {

// Speed against length: the paper's Figures 1 and 2. Every step has about the same number of source
// tokens, and targets grow with their sources.
struct LengthSpeedOptions {
  TrainingModelOptions training;
  std::vector<ModelConfig> models;
  std::vector<int64_t> lengths;
  int64_t tokens = 32768;
  // A step of a new shape is captured after seven runs.
  TimingOptions timing{.rounds = 3, .round_ms = 150, .warm_ups = 8};
  Watch watch = go_on;
};

struct LengthPart {
  double ms = 0;
  double flops = 0;  // of all rows
  double peak_bytes = 0;
  bool fits = true;  // false: out of memory, and nothing was measured
};

struct LengthSpeed {
  std::string mixer;
  int64_t length = 0;
  int64_t rows = 0;
  double flops_ceiling = 0;  // FLOP/s of a large matmul in the same run
  LengthPart encoder;        // forward and backward pass of the encoder alone
  LengthPart step;           // the whole training step

  double tokens_per_second(const LengthPart& part) const {
    return 1e3 * static_cast<double>(rows * length) / part.ms;
  }
  double examples_per_second(const LengthPart& part) const {
    return 1e3 * static_cast<double>(rows) / part.ms;
  }
  double utilisation(const LengthPart& part) const {
    return 1e3 * part.flops / part.ms / flops_ceiling;
  }
};

// 114 target tokens for 512 source tokens, as in pre-training.
Workload work_at(int64_t length);

inline constexpr char kFlatnessUnit[] = "slowest/fastest";

std::vector<LengthSpeed> measure_lengths(const LengthSpeedOptions& options);

std::vector<Row> rows_of(const std::vector<LengthSpeed>& speeds);

Plot speed_plot(const std::vector<LengthSpeed>& speeds);  // examples per second
Plot flops_plot(const std::vector<LengthSpeed>& speeds);  // of one example

}  // namespace convseq::bench
