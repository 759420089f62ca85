#pragma once

#include <cstdint>

#include "convseq/base/enum_names.h"

namespace convseq {

enum class ScheduleKind { InverseSqrt, Cosine, Linear, Constant };
template <>
inline constexpr auto kEnumNames<ScheduleKind> = std::to_array<EnumName<ScheduleKind>>({
    {ScheduleKind::InverseSqrt, "inverse_sqrt"},
    {ScheduleKind::Cosine, "cosine"},
    {ScheduleKind::Linear, "linear"},
    {ScheduleKind::Constant, "constant"},
});

struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::InverseSqrt;
  double learning_rate = 1;        // the highest; for inverse_sqrt the factor before 1/sqrt(step)
  double final_learning_rate = 0;  // where cosine and linear end
  int64_t warmup_steps = 10'000;
  int64_t total_steps = 0;  // 0: not known beforehand; cosine, linear and decay_steps need it
  int64_t decay_steps = 0;  // the last so many steps go down to zero in a straight line
};

// The learning rate as a pure function of the step, which counts the updates made before it: the
// first update is step 0, the last total_steps − 1, and neither has a rate of zero.
//   inverse_sqrt  lr / sqrt(max(step, warmup)): T5's, flat while it warms up
//   the others    lr · (step + 1) / warmup while step < warmup, then from there to total_steps
//                 cosine or linear from lr to final_learning_rate, or constant
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);  // refuses impossible settings by name
  double learning_rate(int64_t step) const;

 private:
  double before_decay(int64_t step) const;

  ScheduleOptions options_;
};

}  // namespace convseq
