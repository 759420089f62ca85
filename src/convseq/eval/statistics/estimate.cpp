#include "convseq/eval/statistics/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "convseq/base/error.h"
#include "convseq/eval/statistics/shared_groups.h"
#include "convseq/eval/statistics/students_t.h"

namespace convseq {
namespace {

using Terms = std::vector<VarianceTerm>;
using Set = std::vector<const WeightedTerms*>;

VarianceTerm interaction_of(const WeightedTerms& system) {
  const VarianceTerm& term = system.terms.interaction;
  return {system.weight * system.weight * term.variance, term.degrees};
}

double total(const Terms& terms) {
  double sum = 0;
  for (const VarianceTerm& term : terms) sum += term.variance;
  return sum;
}

// Satterthwaite's (Σ v)² / Σ (v² / degrees) takes the squares of estimated variances for those of
// the true ones, which are smaller on average. Half a degree corrects a part of that: without it
// two systems of three runs cover 97%, and with all of it, 2, systems of unequal spread 92%.
double joint_degrees(const Terms& terms) {
  constexpr double kCorrection = 0.5;
  double weighted = 0, most = 0;
  for (const VarianceTerm& term : terms) {
    weighted += term.variance * term.variance / (term.degrees + kCorrection);
    most += term.degrees;
  }
  const double sum = total(terms);
  return weighted > 0 ? std::clamp(sum * sum / weighted - kCorrection, 1.0, std::max(1.0, most))
                      : 1;
}

// Student's t of runs and of examples, averaged with the squares of their variances as weights, as
// Satterthwaite weighs degrees of freedom. Degrees of freedom pooled over both would grow whenever
// two or three runs happen to agree, and the interval of three runs would cover only 92%.
double joint_quantile(const Terms& runs, const Terms& examples, double confidence) {
  double weights = 0, sum = 0;
  for (const Terms* terms : {&runs, &examples}) {
    const double weight = total(*terms) * total(*terms);
    if (weight == 0) continue;
    weights += weight;
    sum += weight * students_t_quantile(confidence, joint_degrees(*terms));
  }
  return weights > 0 ? sum / weights : 0;
}

using Means = std::vector<double> VarianceTerms::*;

std::vector<double> weighted_sum(const Set& systems, Means means) {
  std::vector<double> sums((systems.front()->terms.*means).size(), 0.0);
  for (const WeightedTerms* system : systems) {
    const auto& values = system->terms.*means;
    for (size_t i = 0; i < values.size(); ++i) sums[i] += system->weight * values[i];
  }
  return sums;
}

// The spread of groups, at least what the interaction alone would give it: a component that comes
// out negative is taken as 0.
Terms at_least_interaction(const VarianceTerm& spread, const Set& systems) {
  Terms least;
  for (const WeightedTerms* system : systems) least.push_back(interaction_of(*system));
  return spread.variance > total(least) ? Terms{spread} : least;
}

void append(Terms& terms, const Terms& more) {
  terms.insert(terms.end(), more.begin(), more.end());
}

// Of systems that share their groups. Where a system has one group, its runs are independent.
Terms run_terms(const Set& systems) {
  Terms terms;
  Set several;
  for (const WeightedTerms* system : systems) {
    if (system->terms.several_groups()) {
      several.push_back(system);
      continue;
    }
    const auto runs = weighted_sum({system}, &VarianceTerms::group_means);
    append(terms, at_least_interaction(variance_of_mean(runs), {system}));
  }
  if (several.empty()) return terms;
  append(terms, at_least_interaction(variance_of_shared_groups(systems), several));
  return terms;
}

// The spread of the examples, less what the interaction with the runs adds to it, which run_terms
// counts already.
Terms example_terms(const Set& systems) {
  Terms terms = {variance_of_mean(weighted_sum(systems, &VarianceTerms::example_means))};
  for (const WeightedTerms* system : systems) {
    const VarianceTerm interaction = interaction_of(*system);
    terms.push_back({-interaction.variance, interaction.degrees});
  }
  return total(terms) > 0 ? terms : Terms{};
}

}  // namespace

Estimate estimate_sum(std::span<const WeightedSystem> systems, double confidence) {
  require(!systems.empty(), "estimate_sum: no scores");
  Estimate estimate{.counts_runs = true, .counts_examples = true};
  std::vector<WeightedTerms> all;
  for (const WeightedSystem& system : systems) {
    all.push_back({variance_terms(*system.scores), system.weight});
    estimate.value += system.weight * all.back().terms.mean;
    estimate.counts_runs = estimate.counts_runs && system.scores->runs() > 1;
    estimate.counts_examples = estimate.counts_examples && system.scores->examples() > 1;
  }
  std::map<int64_t, Set> by_runs, by_examples;
  for (size_t i = 0; i < all.size(); ++i) {
    by_runs[systems[i].run_set].push_back(&all[i]);
    by_examples[systems[i].example_set].push_back(&all[i]);
  }
  Terms runs, examples;
  for (const auto& [run_set, members] : by_runs) append(runs, run_terms(members));
  for (const auto& [example_set, members] : by_examples) {
    for (const WeightedTerms* member : members) {
      require(member->terms.example_means.size() == members[0]->terms.example_means.size(),
              "estimate_sum: {} and {} examples; paired systems need the same ones",
              members[0]->terms.example_means.size(), member->terms.example_means.size());
    }
    append(examples, example_terms(members));
  }
  estimate.standard_error = std::sqrt(std::max(0.0, total(runs) + total(examples)));
  const double half = joint_quantile(runs, examples, confidence) * estimate.standard_error;
  estimate.interval = {.low = estimate.value - half, .high = estimate.value + half};
  return estimate;
}

Estimate estimate_mean(const SystemScores& scores, double confidence) {
  return estimate_sum(std::vector<WeightedSystem>{{.scores = &scores}}, confidence);
}

Estimate estimate_difference(const SystemScores& first, const SystemScores& second,
                             double confidence) {
  return estimate_sum(std::vector<WeightedSystem>{{.scores = &first},
                                                  {.scores = &second, .weight = -1, .run_set = 1}},
                      confidence);
}

}  // namespace convseq
