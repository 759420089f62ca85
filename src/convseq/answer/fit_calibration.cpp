#include "convseq/answer/fit_calibration.h"

#include <algorithm>

#include "convseq/base/contains.h"
#include "convseq/base/counted.h"
#include "convseq/base/error.h"
#include "convseq/base/log.h"
#include "convseq/eval/labels/temperature.h"

namespace convseq {
namespace {

// The indices of each example's true labels.
std::vector<std::vector<size_t>> truths_of(const CalibrationData& data) {
  const Task& task = data.task;
  std::vector<std::vector<size_t>> truths;
  for (const TaskExample& example : data.examples) {
    const bool is_multi = task.label_kind == LabelKind::Multi;
    auto& indices = truths.emplace_back();
    for (const std::string& label :
         is_multi ? example.labels : std::vector<std::string>{example.target}) {
      const auto found = std::find(task.labels.begin(), task.labels.end(), label);
      indices.push_back(static_cast<size_t>(found - task.labels.begin()));
    }
  }
  return truths;
}

// One label's probabilities, and whether the examples have it.
struct Column {
  std::vector<double> probabilities;
  std::vector<bool> truths;
};

Column column_of(size_t label, const std::vector<LabelAnswer>& answers,
                 const std::vector<std::vector<size_t>>& truths) {
  Column column;
  for (size_t i = 0; i < answers.size(); ++i) {
    column.probabilities.push_back(answers[i].probabilities[label]);
    column.truths.push_back(contains(truths[i], label));
  }
  return column;
}

void fit_thresholds(const CalibrationRequest& fit, const CalibrationData& data,
                    Calibration& calibration) {
  const ThresholdRequest& request = *fit.threshold;
  const Task& task = data.task;
  const LabelDecision decision(task.label_kind, task.labels,
                               {.temperature = calibration.temperature});
  std::vector<LabelAnswer> answers;
  for (const auto& scores : data.scores) answers.push_back(decision.decide(scores));
  const auto truths = truths_of(data);
  const std::vector<std::string> labels = labels_to_fit(task);
  if (task.label_kind == LabelKind::Single) calibration.thresholds.clear();  // of another label
  size_t fitted = 0;
  for (const std::string& label : labels) {
    const auto place = std::find(task.labels.begin(), task.labels.end(), label);
    const Column column =
        column_of(static_cast<size_t>(place - task.labels.begin()), answers, truths);
    const int64_t positives = std::count(column.truths.begin(), column.truths.end(), true);
    const auto threshold = positives < fit.min_positives
                               ? std::nullopt
                               : fit_threshold(request, column.probabilities, column.truths);
    if (threshold) {
      calibration.thresholds[label] = *threshold;
      ++fitted;
    } else if (labels.size() > 1) {
      log::warning("{}: no threshold of {} {} ({} with it)", task.name, label,
                   positives < fit.min_positives ? "is fitted" : "gives " + request.describe(),
                   counted(positives, "example"));
    }
  }
  require(
      fitted > 0, "{}: no threshold gives {} on {}{}; ask for less", task.name, request.describe(),
      counted(std::ssize(data.examples), "example"),
      fit.min_positives > 1 ? fmt::format(" with {} or more of a label", fit.min_positives) : "");
}

}  // namespace

std::vector<std::string> labels_to_fit(const Task& task) {
  if (task.label_kind == LabelKind::Multi) return task.labels;
  require(!task.positive_label.empty(),
          "{}: a threshold is that of the positive label; name it with {}", task.name,
          OptionName("positive_label"));
  return {task.positive_label};
}

Calibration fit_calibration(const CalibrationRequest& request, const Calibration& current,
                            const CalibrationData& data) {
  Calibration calibration = current;
  if (request.temperature) {
    calibration.temperature = fit_temperature(data.task.label_kind, data.scores, truths_of(data));
    if (!calibration.thresholds.empty() && !request.threshold) {
      log::warning("{}: the thresholds were fitted to another temperature and are removed",
                   data.task.name);
    }
    calibration.thresholds.clear();
  }
  if (request.threshold) fit_thresholds(request, data, calibration);
  return calibration;
}

}  // namespace convseq
