#pragma once

#include <string>
#include <utility>
#include <vector>

#include "convseq/eval/outcome.h"

namespace convseq::testing {

// Outcomes from pairs of {prediction, reference}.
inline std::vector<Outcome> answers(
    const std::vector<std::pair<std::string, std::string>>& predicted_and_true) {
  std::vector<Outcome> outcomes;
  for (const auto& [prediction, reference] : predicted_and_true) {
    outcomes.push_back({.prediction = prediction, .references = {reference}});
  }
  return outcomes;
}

}  // namespace convseq::testing
