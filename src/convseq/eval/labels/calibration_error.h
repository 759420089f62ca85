#pragma once

#include "convseq/eval/metric.h"

namespace convseq {

inline constexpr int64_t kCalibrationBins = 15;

// Expected calibration error (Guo et al. 2017): predictions are put into 15 bins of equal width by
// their probability; the mean over predictions of |mean probability − share that is right| of their
// bin. A prediction is the likeliest label of an example; with label sets, every label of every
// example, which is right if the example has it.
Statistic calibration_error_of(std::span<const Outcome> outcomes, const LabelSet& labels);

}  // namespace convseq
