#pragma once

#include <vector>

#include "convseq/data/task/label_kind.h"

namespace convseq {

// Temperatures are fitted within these limits: where every example is classified correctly, the
// likelihood has no maximum.
inline constexpr double kLowestTemperature = 0.05;
inline constexpr double kHighestTemperature = 20;

// Temperature scaling (Guo et al. 2017): the temperature with the highest likelihood of the true
// labels. It changes probabilities, but not which label is the likeliest.
// `scores`: [example][label]; `truths`: the indices of each example's true labels.
double fit_temperature(LabelKind kind, const std::vector<std::vector<double>>& scores,
                       const std::vector<std::vector<size_t>>& truths);

}  // namespace convseq
