#pragma once

#include <optional>
#include <vector>

#include "convseq/answer/label_decision.h"
#include "convseq/data/task/task_reader.h"
#include "convseq/eval/labels/threshold.h"
#include "convseq/runtime/engine.h"

namespace convseq {

// What to fit to validation data.
struct CalibrationRequest {
  bool temperature = false;
  std::optional<ThresholdRequest> threshold = {};
  int64_t min_positives = 1;  // examples that a label needs for a threshold of its own

  bool any() const { return temperature || threshold.has_value(); }
};

struct CalibrationData {
  const Task& task;
  const std::vector<TaskExample>& examples;
  const ClassScores& scores;  // [example][label], before any temperature
};

// The labels that get thresholds: all of a multi-label task, else the positive one. An Error where
// the task has none.
std::vector<std::string> labels_to_fit(const Task& task);

// The temperature first, then thresholds of the probabilities that it gives: one for each label of
// a multi-label task, or one for the positive label. What is not asked for stays as in `current`,
// but a new temperature removes thresholds, since they were fitted to other probabilities. A label
// of a multi-label task that has fewer than `min_positives` examples, or for which no threshold
// meets the request, keeps its old one, with a warning; if no label is left, or for the positive
// label, that is an Error.
Calibration fit_calibration(const CalibrationRequest& request, const Calibration& current,
                            const CalibrationData& data);

}  // namespace convseq
