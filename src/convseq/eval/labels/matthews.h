#pragma once

#include "convseq/eval/metric.h"

namespace convseq {

// Matthews' correlation coefficient, −1 to 1; 0 is chance, and where all answers or all truths are
// the same. With several classes it is Gorodkin's R_K, in which answers that are no label count as
// one more class; with label sets, the mean over the labels.
Statistic matthews_of(std::span<const Outcome> outcomes, const LabelSet& labels);

}  // namespace convseq
