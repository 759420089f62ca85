#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "convseq/answer/calibration.h"
#include "convseq/data/task/label_kind.h"

namespace convseq {

// One example's answer in terms of labels.
struct LabelAnswer {
  std::vector<double> probabilities;  // of each label; they sum to 1 if one label is right
  std::vector<size_t>
      chosen;  // indices, ascending: exactly one, or any number for LabelKind::Multi
};

// The one place where scores become probabilities and labels:
//   single  softmax(score / temperature). The likeliest label is chosen. If one label has a
//           threshold, it is chosen where its probability reaches that, and otherwise the likeliest
//           of the others.
//   multi   sigmoid(score / temperature). Every label that reaches its threshold (0.5 if none is
//           set) is chosen.
class LabelDecision {
 public:
  static constexpr double kThreshold = 0.5;  // of LabelKind::Multi

  // Refuses a threshold of an unknown label, and several thresholds for LabelKind::Single.
  LabelDecision(LabelKind kind, std::vector<std::string> labels,
                const Calibration& calibration = {});

  // `scores`: one per label, logits of a head or log-probabilities of a LabelScorer.
  LabelAnswer decide(std::span<const double> scores) const;

  LabelKind kind() const { return kind_; }
  const std::vector<std::string>& labels() const { return labels_; }
  // The chosen labels, separated by ", "; empty if there is none.
  std::string text_of(const LabelAnswer& answer) const;

 private:
  size_t choose_one(std::span<const double> scores, const std::vector<double>& probabilities) const;

  LabelKind kind_;
  std::vector<std::string> labels_;
  double temperature_;
  std::vector<std::optional<double>> thresholds_;  // one per label
};

// The calibration of a model folder, for answers with these labels. Refuses what LabelDecision
// refuses, by the name of the file.
Calibration load_calibration(const std::filesystem::path& folder, LabelKind kind,
                             const std::vector<std::string>& labels);

}  // namespace convseq
