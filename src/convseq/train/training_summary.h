#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "convseq/base/file/json_file.h"
#include "convseq/ops/graph/graph_cache.h"
#include "convseq/train/run/pace.h"

namespace convseq {

enum class TrainingEnd { Stopped, Planned, Steps, Tokens, Minutes, Patience };

// The result of a dry run.
struct TrainingPlan {
  int64_t parameters = 0;
  int64_t first_step = 0;         // the step at which it would resume
  int64_t steps = 0;              // in all; 0: another limit decides
  double source_tokens = 0;       // per step
  double seconds_per_step = 0;    // measured; validations and checkpoints come on top
  int64_t peak_memory_bytes = 0;  // measured
  double checkpoint_bytes = 0;    // of all that are kept, and the next while it is written

  Json to_json() const;
  std::string describe() const;
};

struct TrainingSummary {
  TrainingEnd end = TrainingEnd::Stopped;
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  double seconds = 0;
  double loss = 0;  // of the last step
  std::optional<double> best_validation;
  Pace pace;                              // of this process's part of the run
  CaptureTotals captures = {};            // likewise; on a GPU
  std::optional<TrainingPlan> plan = {};  // of a dry run

  // Otherwise it was stopped before its end and the same call resumes it, or it was a dry run.
  bool finished() const { return end > TrainingEnd::Planned; }
  Json to_json() const;
};

}  // namespace convseq
