#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convseq/answer/fit_calibration.h"
#include "convseq/answer/task_answers.h"

namespace convseq {

struct EvaluateTaskOptions {
  LengthBatchOptions batches;
  BootstrapOptions bootstrap;
  std::vector<Metric> metrics = {};  // none: those of the task
  bool token_nll = false;  // also the likelihood of the reference answers, where there is a decoder
  bool finite_scores = false;    // refuse scores of labels that are not finite
  Calibration calibration = {};  // of the model
  CalibrationRequest fit = {};   // what to fit to this split, before the metrics are computed
  // Called before each pass over the examples with the name of the pass, for a progress bar.
  std::function<void(const char* pass)> on_pass = [](const char*) {};
};

struct TaskEvaluation {
  std::vector<std::string> labels;  // of the task
  std::vector<Outcome> outcomes;    // in the order of the split's examples
  Report report;
  Calibration calibration;  // the given one, or what was fitted; none for generated text
};

// Answers every example of a split and computes the metrics: for `convseq evaluate`, for validation
// during fine-tuning, and for the test split after it.
TaskEvaluation evaluate_task(TaskAnswerer& answerer, const TaskSplit& split,
                             const EvaluateTaskOptions& options = {});

// The metrics of a task, and for a task with labels Matthews' coefficient and, where there are
// probabilities, the areas under the ROC and precision-recall curves and the calibration error.
std::vector<Metric> all_metrics(const Task& task, AnswerBy by);

}  // namespace convseq
