#pragma once

#include "convseq/eval/bootstrap.h"
#include "convseq/eval/statistics/variance_terms.h"

namespace convseq {

// A mean, or a difference of two means, with the interval in which the mean over all runs and all
// examples that could have been drawn lies.
struct Estimate {
  double value = 0;
  double standard_error = 0;
  double degrees = 1;  // of freedom, after Satterthwaite
  Interval interval = {};
  // What the interval counts: a single run shows no spread of runs, a single example none of
  // examples.
  bool counts_runs = false;
  bool counts_examples = false;
};

inline constexpr double kConfidence = 0.95;

// The variance of the mean is the sum of what runs and examples contribute; the interval is
// Student's t with Satterthwaite's degrees of freedom, at least 1.
Estimate estimate_mean(const SystemScores& scores, double confidence = kConfidence);

// first − second on the same examples: what is common to both systems' examples drops out. Their
// runs are independent.
Estimate estimate_difference(const SystemScores& first, const SystemScores& second,
                             double confidence = kConfidence);

}  // namespace convseq
