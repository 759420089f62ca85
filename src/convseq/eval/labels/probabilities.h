#pragma once

#include <span>
#include <vector>

#include "convseq/data/task/label_kind.h"

namespace convseq {

// softmax(scores / temperature) of a single-label task, sigmoid(scores / temperature) of a
// multi-label one.
std::vector<double> label_probabilities(LabelKind kind, std::span<const double> scores,
                                        double temperature = 1);

}  // namespace convseq
