#pragma once

#include <filesystem>
#include <map>

#include "convseq/bench/benchmark_report.h"
#include "convseq/bench/step_profile.h"
#include "convseq/bench/training_model.h"
#include "convseq/bench/watch.h"
#include "convseq/data/shape_ladder.h"

namespace convseq::bench {

// The batches of a fine-tuning run on sentences as long as those of SST-2.
struct FinetuneBatchOptions {
  int64_t rows = 32;
  int64_t steps = 300;  // per epoch
  ShapeLadderOptions ladder = {};
};

struct FinetuneSpeedOptions {
  // As finetune() captures steps: without timing the matmuls of each shape first.
  TrainingModelOptions training{.step = {.capture = {.tune_matmuls = false}}};
  std::vector<ModelConfig> models;
  FinetuneBatchOptions batches;
  int rounds = 3;        // epochs; the median of their times is reported
  bool profile = false;  // profile more steps by kernel, on a GPU
  Watch watch = go_on;
};

struct FinetuneSpeed {
  std::string name;  // "finetune_light_512": mixer and d_model
  int64_t d_model = 0;
  double ms = 0;        // per step
  double examples = 0;  // per step, mean
  double padding = 0;   // share of all positions
  int64_t shapes = 0;   // of the batches, different ones
  double warm_up_seconds = 0;
  CaptureTotals captures;  // none: every step was launched
  double peak_bytes = 0;
  // The floor, per step: the arithmetic of all tokens without padding at the rate of a large
  // matmul, and the optimizer's bytes at the copy bandwidth, both measured in the same run.
  double flops = 0, flops_ceiling = 0;
  double optimizer_bytes = 0, copy_bandwidth = 0;
  std::vector<KernelTime> kernels;  // of one step, where it was profiled

  double steps_per_second() const { return 1e3 / ms; }
  double floor_ms() const {
    return 1e3 * (flops / flops_ceiling + optimizer_bytes / copy_bandwidth);
  }
};

// Trains each model as finetune() does: batches made ahead on a thread, padded to few shapes where
// steps are captured. A model that cannot be measured is logged and skipped.
std::vector<FinetuneSpeed> measure_finetuning(const FinetuneSpeedOptions& options);

// The shapes of the batches of one epoch as [rows, source width, target width], as they are and
// padded to the ladder: what bench/peer_finetune.py trains on.
Json finetune_shapes(const FinetuneBatchOptions& options);

// The output of bench/peer_finetune.py, one JSON object per line; the fastest mode by d_model.
struct PeerFinetune {
  std::string mode;
  double steps_per_second = 0;
};
std::map<int64_t, PeerFinetune> read_finetune_peers(const std::filesystem::path& path);

std::vector<Row> rows_of(const FinetuneSpeed& speed, const std::map<int64_t, PeerFinetune>& peers);

}  // namespace convseq::bench
