#include "convseq/eval/labels/calibration_error.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "convseq/eval/labels/label_counts.h"
#include "convseq/eval/labels/label_pairs.h"

namespace convseq {
namespace {

struct Prediction {
  double probability = 0;
  bool right = false;
};

std::vector<Prediction> predictions_of(const Outcome& outcome, LabelKind kind,
                                       const LabelNumbers& numbers) {
  std::vector<Prediction> predictions;
  for (const double probability : outcome.probabilities) predictions.push_back({probability});
  for (const std::string& truth : true_labels(outcome)) {
    if (const uint32_t label = numbers[truth]; label < predictions.size()) {
      predictions[label].right = true;
    }
  }
  if (kind == LabelKind::Multi) return predictions;
  return {*std::max_element(
      predictions.begin(), predictions.end(),
      [](const Prediction& a, const Prediction& b) { return a.probability < b.probability; })};
}

size_t bin_of(double probability) {
  const auto bin = static_cast<int64_t>(probability * static_cast<double>(kCalibrationBins));
  return static_cast<size_t>(std::clamp<int64_t>(bin, 0, kCalibrationBins - 1));
}

}  // namespace

Statistic calibration_error_of(std::span<const Outcome> outcomes, const LabelSet& labels) {
  const LabelNumbers numbers(labels.all);
  std::vector<std::vector<Prediction>> predictions;
  for (const Outcome& outcome : outcomes) {
    predictions.push_back(predictions_of(outcome, labels.kind, numbers));
  }
  return [predictions = std::move(predictions)](Sample sample) {
    std::array<double, kCalibrationBins> excess{};  // Σ (probability − right)
    double count = 0;
    for (const uint32_t example : sample) {
      for (const auto& [probability, right] : predictions[example]) {
        excess[bin_of(probability)] += probability - (right ? 1.0 : 0.0);
        ++count;
      }
    }
    double sum = 0;
    for (const double each : excess) sum += std::abs(each);
    return count > 0 ? sum / count : 0.0;
  };
}

}  // namespace convseq
