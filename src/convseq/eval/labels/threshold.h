#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convseq/base/enum_names.h"

namespace convseq {

enum class ThresholdGoal { Precision, Recall, F1 };
template <>
inline constexpr auto kEnumNames<ThresholdGoal> = std::to_array<EnumName<ThresholdGoal>>({
    {ThresholdGoal::Precision, "precision"},  // at least `value`, with the highest recall
    {ThresholdGoal::Recall, "recall"},        // at least `value`, with the highest threshold
    {ThresholdGoal::F1, "f1"},                // the highest
});

struct ThresholdRequest {
  ThresholdGoal goal = ThresholdGoal::F1;
  double value = 0;  // not of F1

  std::string describe() const;  // "precision=0.9", "f1"
};

// The threshold of one label's probability that meets the request on these examples. It lies midway
// between two probabilities, so that rounding does not change an answer. None if no example has the
// label, or no threshold gives the precision.
std::optional<double> fit_threshold(const ThresholdRequest& request,
                                    std::span<const double> probabilities,
                                    const std::vector<bool>& truths);

}  // namespace convseq
