#include "convseq/eval/statistics/shared_groups.h"

#include <cmath>
#include <map>

namespace convseq {
namespace {

using Matrix = std::vector<std::vector<double>>;

double sum_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return sum;
}

// tr(M²) of a symmetric M.
double trace_of_square(const Matrix& matrix) {
  double trace = 0;
  for (const auto& row : matrix) trace += sum_of_squares(row);
  return trace;
}

Matrix square(const Matrix& matrix) {
  const size_t size = matrix.size();
  Matrix squared(size, std::vector<double>(size, 0.0));
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j < size; ++j) {
      for (size_t k = 0; k < size; ++k) squared[i][j] += matrix[i][k] * matrix[k][j];
    }
  }
  return squared;
}

}  // namespace

VarianceTerm variance_of_shared_groups(const std::vector<const WeightedTerms*>& systems) {
  std::map<int64_t, size_t> places;
  for (const WeightedTerms* system : systems) {
    for (const int64_t id : system->terms.group_ids) places.try_emplace(id, places.size());
  }
  std::vector<double> deviations(places.size(), 0.0), weights(places.size(), 0.0);  // d, k
  Matrix residual(places.size(), std::vector<double>(places.size(), 0.0));          // B
  for (const WeightedTerms* system : systems) {
    const VarianceTerms& terms = system->terms;
    const auto groups = static_cast<double>(terms.group_ids.size());
    const double share = system->weight / groups;
    for (size_t i = 0; i < terms.group_ids.size(); ++i) {
      const size_t own = places.at(terms.group_ids[i]);
      if (terms.several_groups()) deviations[own] += share * (terms.group_means[i] - terms.mean);
      // Systems of opposite signs may cancel out in the sum, but not in how far it is known.
      weights[own] += std::abs(share);
      residual[own][own] += std::abs(share);
      for (const int64_t other : terms.group_ids) {
        residual[own][places.at(other)] -= std::abs(share) / groups;
      }
    }
  }
  const double trace = trace_of_square(residual);
  if (trace == 0) return {};
  return {sum_of_squares(weights) / trace * sum_of_squares(deviations),
          trace * trace / trace_of_square(square(residual))};
}

}  // namespace convseq
