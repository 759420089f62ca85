#pragma once

#include <span>

#include "convseq/eval/bootstrap.h"
#include "convseq/eval/statistics/variance_terms.h"

namespace convseq {

// A mean, a difference of two means or a mean of such, with the interval in which it would lie over
// all runs and all examples that could have been drawn.
struct Estimate {
  double value = 0;
  double standard_error = 0;
  Interval interval = {};
  // What the interval counts: a single run shows no spread of runs, a single example none of
  // examples.
  bool counts_runs = false;
  bool counts_examples = false;

  double half_width() const { return (interval.high - interval.low) / 2; }
};

inline constexpr double kConfidence = 0.95;

Estimate estimate_mean(const SystemScores& scores, double confidence = kConfidence);

// first − second on the same examples: what is common to both systems' examples drops out. Their
// runs are independent.
Estimate estimate_difference(const SystemScores& first, const SystemScores& second,
                             double confidence = kConfidence);

// A system in a weighted sum of means.
struct WeightedSystem {
  const SystemScores* scores = nullptr;
  double weight = 1;
  int64_t example_set = 0;  // systems with the same number were scored on the same examples
  int64_t run_set = 0;      // systems with the same number share the groups with the same ids, such
                            // as one model's pre-trainings, fine-tuned on several tasks
};

// Σ weight · mean. Its variance is the sum of what runs and examples contribute; the interval is
// Student's t with Satterthwaite's degrees of freedom (at least 1) for each of the two.
Estimate estimate_sum(std::span<const WeightedSystem> systems, double confidence = kConfidence);

}  // namespace convseq
