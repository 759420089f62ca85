#include "convseq/train/training_options.h"

#include <algorithm>

#include "convseq/base/memory.h"

namespace convseq {

void check_batch(int64_t rows, int processes) {
  require(rows > 0 && rows % processes == 0,
          "a batch of {} examples cannot be shared evenly by {} processes", rows, processes);
}

TrainingShape training_shape(const TrainingOptions& options, int64_t rows) {
  const int64_t at_once =
      options.micro_batch_rows > 0 ? std::min(options.micro_batch_rows, rows) : rows;
  return {.rows = at_once,
          .micro_batches = (rows + at_once - 1) / std::max<int64_t>(at_once, 1),
          .precision = options.compute,
          .optimizer = options.optimizer.kind,
          .recompute = options.step.recompute,
          .pooled = options.step.pooled,
          .device = options.device};
}

void require_training_memory(const TrainingOptions& options, const ModelConfig& config,
                             const TrainingShape& shape) {
  if (!options.device.is_cpu()) return;
  const MemoryEstimate estimate = training_memory(config, shape);
  require_memory(estimate.total(),
                 fmt::format("training with {} rows of {} and {} tokens at a time", shape.rows,
                             shape.source, shape.target),
                 options.max_memory_bytes);
}

RunIdentity identity_of(const TrainingOptions& options) {
  const ScheduleOptions& schedule = options.schedule;
  const auto text = [](auto value) { return fmt::format("{}", value); };
  return {
      {"seed", text(options.seed)},
      {"precision", c10::toString(options.compute)},
      {"optimizer", std::string(name_of(options.optimizer.kind))},
      {"weight decay", text(options.optimizer.weight_decay)},
      {"schedule", std::string(name_of(schedule.kind))},
      {"learning rate", text(schedule.learning_rate)},
      {"warm-up steps",
       schedule.warmup_steps == kUsualWarmup ? "(usual)" : text(schedule.warmup_steps)},
      {"decay steps", text(schedule.decay_steps)},
      {"gradient clip", text(options.step.clip_norm)},
      {"label smoothing", text(options.step.label_smoothing)},
      {"z-loss", text(options.step.z_loss)},
      {"best model", options.keep_best ? "kept" : "not kept"},
  };
}

}  // namespace convseq
