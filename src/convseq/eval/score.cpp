#include "convseq/eval/score.h"

#include "convseq/base/error.h"

namespace convseq {
namespace {

std::vector<Statistic> statistics_of(std::span<const Outcome> outcomes,
                                     const ScoreOptions& options) {
  std::vector<Statistic> statistics;
  for (Metric metric : options.metrics) {
    statistics.push_back(statistic_of(metric, outcomes, options.labels));
  }
  return statistics;
}

std::vector<Score> scores_of(const std::vector<Statistic>& statistics, size_t examples,
                             const ScoreOptions& options) {
  std::vector<Interval> intervals;
  if (options.bootstrap.resamples > 0) {
    intervals = bootstrap_intervals(statistics, examples, options.bootstrap);
  }
  std::vector<Score> scores;
  for (size_t i = 0; i < statistics.size(); ++i) {
    scores.push_back({.metric = options.metrics[i],
                      .value = on_all(statistics[i], examples),
                      .count = static_cast<int64_t>(examples)});
    if (!intervals.empty()) scores.back().interval = intervals[i];
  }
  return scores;
}

void check(std::span<const Outcome> outcomes) {
  require(!outcomes.empty(), "there are no answers to score");
  for (size_t i = 0; i < outcomes.size(); ++i) {
    require(!outcomes[i].references.empty(), "example {} has no acceptable answer", i + 1);
  }
}

}  // namespace

std::vector<Score> score(std::span<const Outcome> outcomes, const ScoreOptions& options) {
  check(outcomes);
  return scores_of(statistics_of(outcomes, options), outcomes.size(), options);
}

std::map<std::string, std::vector<Score>> score_by_category(std::span<const Outcome> outcomes,
                                                            const ScoreOptions& options) {
  std::map<std::string, std::vector<Outcome>> categories;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.category.empty()) categories[outcome.category].push_back(outcome);
  }
  std::map<std::string, std::vector<Score>> scores;
  for (const auto& [category, members] : categories) scores[category] = score(members, options);
  return scores;
}

std::vector<Score> score_difference(std::span<const Outcome> first, std::span<const Outcome> second,
                                    const ScoreOptions& options) {
  check(first);
  require(first.size() == second.size(),
          "one system answered {} examples and the other {}; compare them on the same ones",
          first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    require(first[i].references == second[i].references,
            "example {} of the two systems is not the same: their references differ", i + 1);
  }
  std::vector<Statistic> differences;
  const auto left = statistics_of(first, options), right = statistics_of(second, options);
  for (size_t i = 0; i < left.size(); ++i) {
    differences.push_back(
        [a = left[i], b = right[i]](Sample sample) { return a(sample) - b(sample); });
  }
  return scores_of(differences, first.size(), options);
}

}  // namespace convseq
