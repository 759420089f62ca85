#include "convseq/answer/label_decision.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "convseq/base/error.h"
#include "convseq/eval/labels/probabilities.h"

namespace convseq {

LabelDecision::LabelDecision(LabelKind kind, std::vector<std::string> labels,
                             const Calibration& calibration)
    : kind_(kind),
      labels_(std::move(labels)),
      temperature_(calibration.temperature),
      thresholds_(labels_.size()) {
  for (const auto& [label, threshold] : calibration.thresholds) {
    const auto found = std::find(labels_.begin(), labels_.end(), label);
    require(found != labels_.end(), "threshold of {}: it is no label; the labels: {}", label,
            fmt::join(labels_, ", "));
    thresholds_[static_cast<size_t>(found - labels_.begin())] = threshold;
  }
  require(kind_ == LabelKind::Multi || calibration.thresholds.size() <= 1,
          "{} thresholds: a model that answers with one label takes a threshold for one label only",
          calibration.thresholds.size());
}

LabelAnswer LabelDecision::decide(std::span<const double> scores) const {
  require(scores.size() == labels_.size(), "{} scores for {} labels", scores.size(),
          labels_.size());
  LabelAnswer answer{.probabilities = label_probabilities(kind_, scores, temperature_),
                     .chosen = {}};
  if (kind_ == LabelKind::Single) {
    answer.chosen = {choose_one(scores, answer.probabilities)};
    return answer;
  }
  for (size_t label = 0; label < labels_.size(); ++label) {
    if (answer.probabilities[label] >= thresholds_[label].value_or(kThreshold)) {
      answer.chosen.push_back(label);
    }
  }
  return answer;
}

// Scores are compared, since different ones may round to the same probability.
size_t LabelDecision::choose_one(std::span<const double> scores,
                                 const std::vector<double>& probabilities) const {
  std::vector<double> candidates(scores.begin(), scores.end());
  for (size_t label = 0; label < labels_.size(); ++label) {
    if (!thresholds_[label]) continue;
    if (probabilities[label] >= *thresholds_[label]) return label;
    candidates[label] = -std::numeric_limits<double>::infinity();
  }
  return static_cast<size_t>(std::max_element(candidates.begin(), candidates.end()) -
                             candidates.begin());
}

std::string LabelDecision::text_of(const LabelAnswer& answer) const {
  std::vector<std::string_view> names;
  for (const size_t label : answer.chosen) names.push_back(labels_[label]);
  return fmt::format("{}", fmt::join(names, ", "));
}

Calibration load_calibration(const std::filesystem::path& folder, LabelKind kind,
                             const std::vector<std::string>& labels) {
  const Calibration calibration = Calibration::load(folder);
  try {
    const LabelDecision refuses_what_does_not_fit(kind, labels, calibration);
  } catch (const Error& error) {
    throw error.at((folder / kCalibrationFile).string());
  }
  return calibration;
}

}  // namespace convseq
