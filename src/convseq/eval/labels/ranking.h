#pragma once

#include "convseq/eval/metric.h"

namespace convseq {

// How well probabilities rank the examples that have a label before those that do not: of the
// positive label, or the mean over all labels (one against the rest) if the task names none. Labels
// that all examples of a sample have, or none, cannot be ranked and are left out; if none remains,
// the area under the ROC curve is 0.5 and the average precision 0.

// The area under the ROC curve: the probability that a random example with the label is ranked
// before a random one without it. Ties count as a half.
Statistic roc_auc_of(std::span<const Outcome> outcomes, const LabelSet& labels);

// The area under the precision-recall curve: Σ (Rₙ − Rₙ₋₁) Pₙ over the thresholds, as scikit-learn
// computes it.
Statistic average_precision_of(std::span<const Outcome> outcomes, const LabelSet& labels);

}  // namespace convseq
