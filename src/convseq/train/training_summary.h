#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "convseq/base/enum_names.h"
#include "convseq/base/file/json_file.h"
#include "convseq/ops/graph/graph_cache.h"
#include "convseq/train/run/pace.h"

namespace convseq {

enum class TrainingEnd { Stopped, Planned, Steps, Tokens, Minutes, Patience };
template <>
inline constexpr auto kEnumNames<TrainingEnd> =
    std::to_array<EnumName<TrainingEnd>>({{TrainingEnd::Stopped, "stopped"},
                                          {TrainingEnd::Planned, "dry run"},
                                          {TrainingEnd::Steps, "steps"},
                                          {TrainingEnd::Tokens, "tokens"},
                                          {TrainingEnd::Minutes, "minutes"},
                                          {TrainingEnd::Patience, "patience"}});

// The result of a dry run.
struct TrainingPlan {
  int64_t parameters = 0;
  int64_t first_step = 0;         // the step at which it would resume
  int64_t steps = 0;              // in total; 0: another limit ends the run
  double source_tokens = 0;       // per step
  double seconds_per_step = 0;    // measured, without validations and checkpoints
  int64_t peak_memory_bytes = 0;  // measured
  double checkpoint_bytes = 0;    // for `keep` checkpoints and the one being written

  Json to_json() const;
  std::string describe() const;
};

struct TrainingSummary {
  TrainingEnd end = TrainingEnd::Stopped;
  int64_t step = 0;
  int64_t source_tokens = 0;
  int64_t skipped_steps = 0;
  double seconds = 0;
  double flops = 0;
  double loss = 0;  // of the last step
  std::optional<double> best_validation;
  Pace pace;                              // since this run started or resumed
  CaptureTotals captures = {};            // likewise; GPU only
  std::optional<TrainingPlan> plan = {};  // of a dry run

  // False if the run was stopped early (the same call resumes it) or was a dry run.
  bool finished() const { return end > TrainingEnd::Planned; }
  Json to_json() const;
};

}  // namespace convseq
