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
  double learning_rate = 1;        // peak; for inverse_sqrt the factor of 1/sqrt(step)
  double final_learning_rate = 0;  // at the end of cosine and linear
  int64_t warmup_steps = 10'000;
  int64_t total_steps = 0;  // 0: unknown; required by cosine, linear and decay_steps
  int64_t decay_steps = 0;  // number of last steps with linear decay to zero
};

// The learning rate as a pure function of the step, from 0 to total_steps − 1. Neither the first
// nor the last step has a learning rate of zero.
//   inverse_sqrt  lr / sqrt(max(step, warmup)), as in T5: constant during warm-up
//   the others    lr · (step + 1) / warmup while step < warmup, then until total_steps a cosine or
//                 linear decay from lr to final_learning_rate, or constant
class Schedule {
 public:
  explicit Schedule(const ScheduleOptions& options);  // an Error names an impossible setting
  double learning_rate(int64_t step) const;

 private:
  double before_decay(int64_t step) const;

  ScheduleOptions options_;
};

}  // namespace convseq
