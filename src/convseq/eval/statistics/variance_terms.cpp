#include "convseq/eval/statistics/variance_terms.h"

#include <numeric>

#include "convseq/base/error.h"

namespace convseq {
namespace {

using Rows = std::vector<std::vector<double>>;  // [row][example]

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> mean_row(const Rows& rows) {
  std::vector<double> means(rows.front().size(), 0.0);
  for (const auto& row : rows) {
    for (size_t e = 0; e < row.size(); ++e) means[e] += row[e];
  }
  for (double& mean : means) mean /= static_cast<double>(rows.size());
  return means;
}

std::vector<Rows> runs_as_groups(const Rows& runs) {
  std::vector<Rows> groups;
  for (const auto& run : runs) groups.push_back({run});
  return groups;
}

std::vector<int64_t> ids_of(const SystemScores& scores) {
  if (!scores.group_ids.empty()) return scores.group_ids;
  std::vector<int64_t> places(scores.groups.size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

void check(const SystemScores& scores) {
  require(scores.runs() > 0 && scores.examples() > 0, "variance_terms: no scores");
  require(scores.group_ids.empty() || scores.group_ids.size() == scores.groups.size(),
          "variance_terms: {} ids of {} groups", scores.group_ids.size(), scores.groups.size());
  for (const auto& group : scores.groups) {
    require(!group.empty(), "variance_terms: a group without runs");
    for (const auto& run : group) {
      require(std::ssize(run) == scores.examples(), "variance_terms: runs with {} and {} examples",
              run.size(), scores.examples());
    }
  }
}

}  // namespace

int64_t SystemScores::runs() const {
  int64_t count = 0;
  for (const auto& group : groups) count += std::ssize(group);
  return count;
}

int64_t SystemScores::examples() const {
  return groups.empty() || groups[0].empty() ? 0 : std::ssize(groups[0][0]);
}

VarianceTerm variance_of_mean(const std::vector<double>& values) {
  if (values.size() < 2) return {};
  const double mean = mean_of(values), count = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return {squares / (count - 1) / count, count - 1};
}

VarianceTerms variance_terms(const SystemScores& scores) {
  check(scores);
  Rows groups;
  const bool one_group = scores.groups.size() == 1;
  for (const Rows& runs : one_group ? runs_as_groups(scores.groups[0]) : scores.groups) {
    groups.push_back(mean_row(runs));
  }
  VarianceTerms terms{.group_ids = ids_of(scores), .example_means = mean_row(groups)};
  terms.mean = mean_of(terms.example_means);
  double rest_squares = 0;
  for (const auto& group : groups) {
    const double mean = terms.group_means.emplace_back(mean_of(group));
    for (size_t e = 0; e < group.size(); ++e) {
      const double rest = group[e] - mean - terms.example_means[e] + terms.mean;
      rest_squares += rest * rest;
    }
  }
  const auto count = static_cast<double>(groups.size());
  const auto examples = static_cast<double>(scores.examples());
  const double degrees = (count - 1) * (examples - 1);
  if (degrees > 0) terms.interaction = {rest_squares / degrees / (count * examples), degrees};
  return terms;
}

}  // namespace convseq
