#pragma once

#include <filesystem>
#include <functional>

#include "convseq/train/optim/optimizer.h"
#include "convseq/train/optim/schedule.h"
#include "convseq/train/run/training_checkpoint.h"
#include "convseq/train/step/memory_estimate.h"
#include "convseq/train/step/train_step.h"

namespace convseq {

// A run ends at the first limit it reaches; 0: no such limit.
struct TrainingLimits {
  int64_t steps = 0;
  int64_t source_tokens = 0;
  double minutes = 0;    // of training, summed over restarts
  int64_t patience = 0;  // validations in a row without improvement
};

inline constexpr int64_t kUsualWarmup = -1;  // 10% of the steps, at most 100; 100 if unknown

// Throws an Error if a batch cannot be split evenly between the processes.
void check_batch(int64_t rows, int processes);

// The options that pre-training and fine-tuning share.
struct TrainingOptions {
  std::filesystem::path out;
  OptimizerOptions optimizer;
  ScheduleOptions schedule{
      .kind = ScheduleKind::Cosine, .learning_rate = 2e-2, .warmup_steps = kUsualWarmup};
  TrainStepOptions step;
  torch::Device device = torch::kCPU;
  torch::Dtype compute = torch::kFloat32;
  uint64_t seed = 1;
  TrainingLimits limits{.steps = 1000};
  int64_t micro_batch_rows = 0;  // rows computed at a time; 0: the whole batch
  int64_t log_every = 10;
  int64_t validate_every = 500;  // 0: only at the end; in fine-tuning once per epoch
  int64_t save_every = 500;
  double save_seconds = 0;  // minimum time between checkpoints
  int64_t keep = 2;
  bool keep_best = true;  // OUT/best, the model of the best validation
  int64_t most_skipped_in_a_row = 10;
  bool resume = true;
  bool progress = true;
  double max_memory_bytes = 0;  // memory limit on a CPU; 0: the free memory
  bool dry_run = false;         // time a few steps and write nothing
  std::function<bool()> stop = [] {
    return false;
  };                      // called after each step; true: save a checkpoint and stop
  Json record = nullptr;  // the options as given, written to OUT/options.json
  // Keeps the best weights in memory and writes no file at all. Such a run cannot be resumed.
  bool in_memory = false;
  // Called with each line of the log, and after each validation.
  std::function<void(int64_t step, double loss)> on_log = [](int64_t, double) {};
  std::function<void(int64_t step, double score)> on_validation = [](int64_t, double) {};
};

// The shape of one step of one process, for the memory estimate. The caller sets the lengths.
TrainingShape training_shape(const TrainingOptions& options, int64_t rows);
// Throws an Error, before anything is allocated, if a run on a CPU needs more memory than there is.
// Runs on a GPU are not checked.
void require_training_memory(const TrainingOptions& options, const ModelConfig& config,
                             const TrainingShape& shape);

// The part of the identity that pre-training and fine-tuning share: the options, other than the
// data, that determine the weights.
RunIdentity identity_of(const TrainingOptions& options);

}  // namespace convseq
