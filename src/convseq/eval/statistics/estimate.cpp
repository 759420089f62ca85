#include "convseq/eval/statistics/estimate.h"

#include <algorithm>
#include <cmath>

#include "convseq/base/error.h"
#include "convseq/eval/statistics/students_t.h"

namespace convseq {
namespace {

using Terms = std::vector<VarianceTerm>;

double total(const Terms& terms) {
  double sum = 0;
  for (const VarianceTerm& term : terms) sum += term.variance;
  return sum;
}

// Satterthwaite: (Σ v)² / Σ (v² / degrees).
double joint_degrees(const Terms& terms) {
  double weighted = 0;
  for (const VarianceTerm& term : terms) {
    weighted += term.variance * term.variance / term.degrees;
  }
  const double sum = total(terms);
  return weighted > 0 ? std::max(1.0, sum * sum / weighted) : 1;
}

// The examples' own part: the spread of the examples' means less what the interaction with the runs
// adds to it, which `runs` counts already.
Terms example_terms(const std::vector<double>& example_means, const Terms& interaction) {
  Terms terms = {variance_of_mean(example_means)};
  for (const VarianceTerm& term : interaction) terms.push_back({-term.variance, term.degrees});
  return total(terms) > 0 ? terms : Terms{};
}

Estimate with_interval(Estimate estimate, const Terms& terms, double confidence) {
  estimate.standard_error = std::sqrt(std::max(0.0, total(terms)));
  estimate.degrees = joint_degrees(terms);
  const double half = students_t_quantile(confidence, estimate.degrees) * estimate.standard_error;
  estimate.interval = {.low = estimate.value - half, .high = estimate.value + half};
  return estimate;
}

void append(Terms& terms, const Terms& more) {
  terms.insert(terms.end(), more.begin(), more.end());
}

}  // namespace

Estimate estimate_mean(const SystemScores& scores, double confidence) {
  const VarianceTerms system = variance_terms(scores);
  Terms terms = system.runs;
  append(terms, example_terms(system.example_means, system.interaction));
  return with_interval({.value = system.mean,
                        .counts_runs = scores.runs() > 1,
                        .counts_examples = scores.examples() > 1},
                       terms, confidence);
}

Estimate estimate_difference(const SystemScores& first, const SystemScores& second,
                             double confidence) {
  require(first.examples() == second.examples(),
          "estimate_difference: {} and {} examples; a paired difference needs the same ones",
          first.examples(), second.examples());
  const VarianceTerms a = variance_terms(first), b = variance_terms(second);
  std::vector<double> differences = a.example_means;
  for (size_t e = 0; e < differences.size(); ++e) differences[e] -= b.example_means[e];
  Terms terms = a.runs, interaction = a.interaction;
  append(terms, b.runs);
  append(interaction, b.interaction);
  append(terms, example_terms(differences, interaction));
  return with_interval({.value = a.mean - b.mean,
                        .counts_runs = first.runs() > 1 && second.runs() > 1,
                        .counts_examples = first.examples() > 1},
                       terms, confidence);
}

}  // namespace convseq
