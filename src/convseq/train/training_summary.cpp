#include "convseq/train/training_summary.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "convseq/base/memory.h"
#include "convseq/base/progress.h"

namespace convseq {

Json TrainingPlan::to_json() const {
  return {{"parameters", parameters},
          {"first_step", first_step},
          {"steps", steps},
          {"source_tokens_per_step", source_tokens},
          {"seconds_per_step", seconds_per_step},
          {"peak_memory_bytes", peak_memory_bytes},
          {"checkpoint_bytes", checkpoint_bytes}};
}

std::string TrainingPlan::describe() const {
  std::string text =
      fmt::format("{} parameters, {:.0f} source tokens per step, {:.4g} s per step (measured)",
                  parameters, source_tokens, seconds_per_step);
  if (first_step > 0) text += fmt::format(", resuming from step {}", first_step);
  if (steps > 0) {
    const double left =
        seconds_per_step * static_cast<double>(std::max<int64_t>(0, steps - first_step));
    text += fmt::format(", {} steps in about {} without validation", steps,
                        format_duration(std::chrono::seconds(std::llround(left))));
  }
  return text + fmt::format("; {} of memory, {} of disk for checkpoints",
                            short_bytes(static_cast<double>(peak_memory_bytes)),
                            short_bytes(checkpoint_bytes));
}

Json TrainingSummary::to_json() const {
  if (plan) return {{"dry_run", plan->to_json()}};
  Json json = {{"finished", finished()},
               {"ended_by", name_of(end)},
               {"step", step},
               {"source_tokens", source_tokens},
               {"skipped_steps", skipped_steps},
               {"seconds", seconds},
               {"loss", loss}};
  if (pace.source_tokens > 0) {  // a finished run that is called again trains nothing
    json["source_tokens_per_second"] = pace.tokens_per_second();
    json["flop_utilisation"] = pace.utilisation();
    json["peak_memory_bytes"] = pace.peak_memory_bytes;
  }
  if (best_validation) json["best_validation"] = *best_validation;
  if (captures.captures > 0) {
    json["captured_steps"] = {{"shapes", captures.captures},
                              {"seconds", captures.seconds},
                              {"memory_bytes", captures.bytes},
                              {"replayed", captures.replayed},
                              {"launched", captures.launched}};
  }
  return json;
}

}  // namespace convseq
