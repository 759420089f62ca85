#include "convseq/eval/labels/temperature.h"

#include <cmath>

#include "convseq/base/error.h"
#include "convseq/eval/labels/probabilities.h"

namespace convseq {
namespace {

// d(−log likelihood) / d(1 / temperature) = Σ score (p − y). It grows with 1 / temperature, since
// the negative log-likelihood is convex in it.
double gradient(LabelKind kind, const std::vector<std::vector<double>>& scores,
                const std::vector<std::vector<size_t>>& truths, double temperature) {
  double sum = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto probabilities = label_probabilities(kind, scores[i], temperature);
    for (size_t k = 0; k < scores[i].size(); ++k) sum += scores[i][k] * probabilities[k];
    for (const size_t truth : truths[i]) sum -= scores[i][truth];
  }
  return sum;
}

}  // namespace

double fit_temperature(LabelKind kind, const std::vector<std::vector<double>>& scores,
                       const std::vector<std::vector<size_t>>& truths) {
  require(!scores.empty() && scores.size() == truths.size(),
          "temperature: {} examples with scores and {} with labels", scores.size(), truths.size());
  double low = std::log(kLowestTemperature), high = std::log(kHighestTemperature);
  constexpr int kBisections = 60;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (gradient(kind, scores, truths, std::exp(middle)) > 0 ? low : high) = middle;
  }
  return std::exp((low + high) / 2);
}

}  // namespace convseq
