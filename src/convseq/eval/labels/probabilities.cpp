#include "convseq/eval/labels/probabilities.h"

#include <algorithm>
#include <cmath>

namespace convseq {

std::vector<double> label_probabilities(LabelKind kind, std::span<const double> scores,
                                        double temperature) {
  std::vector<double> probabilities;
  if (kind == LabelKind::Multi) {
    for (const double score : scores) {
      probabilities.push_back(1 / (1 + std::exp(-score / temperature)));
    }
    return probabilities;
  }
  const double highest = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (const double score : scores) {
    probabilities.push_back(std::exp((score - highest) / temperature));
    sum += probabilities.back();
  }
  for (double& probability : probabilities) probability /= sum;
  return probabilities;
}

}  // namespace convseq
