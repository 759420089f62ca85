#include "convseq/train/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "convseq/base/error.h"

namespace convseq {
namespace {

bool falls(ScheduleKind kind) {
  return kind == ScheduleKind::Cosine || kind == ScheduleKind::Linear;
}

void check(const ScheduleOptions& options) {
  const auto kind = name_of(options.kind);
  require(std::isfinite(options.learning_rate) && options.learning_rate > 0,
          "schedule: the learning rate is {}; must be more than 0", options.learning_rate);
  const auto count = [](const char* name, int64_t value) {
    require(value >= 0, "schedule: the number of {} is {}; must be 0 or more", name, value);
  };
  count("warm-up steps", options.warmup_steps);
  count("steps", options.total_steps);
  count("decay steps", options.decay_steps);

  require(options.final_learning_rate >= 0 && options.final_learning_rate <= options.learning_rate,
          "schedule: the final learning rate is {}; must be from 0 to the learning rate, {}",
          options.final_learning_rate, options.learning_rate);
  require(falls(options.kind) || options.final_learning_rate == 0,
          "schedule: the final learning rate is {}, but {} has none; use cosine or linear, or "
          "decay steps",
          options.final_learning_rate, kind);
  if (options.total_steps == 0) {
    require(!falls(options.kind),
            "schedule: {} needs a known number of steps; set it, or use {} or {}", kind,
            name_of(ScheduleKind::InverseSqrt), name_of(ScheduleKind::Constant));
    require(options.decay_steps == 0,
            "schedule: {} decay steps without a known number of steps; set both",
            options.decay_steps);
    return;
  }
  require(!falls(options.kind) || options.warmup_steps < options.total_steps,
          "schedule: {} warm-up steps leave {} nothing of {} steps; warm up for less",
          options.warmup_steps, kind, options.total_steps);
  require(options.decay_steps <= options.total_steps,
          "schedule: {} decay steps are more than all {} steps", options.decay_steps,
          options.total_steps);
}

}  // namespace

Schedule::Schedule(const ScheduleOptions& options) : options_(options) { check(options); }

double Schedule::before_decay(int64_t step) const {
  const auto& [kind, peak, end, warmup, total, decay] = options_;
  if (kind == ScheduleKind::InverseSqrt) {
    return peak / std::sqrt(static_cast<double>(std::max<int64_t>({step, warmup, 1})));
  }
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (kind == ScheduleKind::Constant) return peak;
  const double progress =
      std::min(1.0, static_cast<double>(step - warmup) / static_cast<double>(total - warmup));
  const double left =
      kind == ScheduleKind::Cosine ? (1 + std::cos(std::numbers::pi * progress)) / 2 : 1 - progress;
  return end + (peak - end) * left;
}

double Schedule::learning_rate(int64_t step) const {
  const double rate = before_decay(step);
  if (options_.decay_steps == 0) return rate;
  const auto left = static_cast<double>(options_.total_steps - step);
  return rate * std::clamp(left / static_cast<double>(options_.decay_steps), 0.0, 1.0);
}

}  // namespace convseq
