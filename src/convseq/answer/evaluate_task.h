#pragma once

#include <functional>
#include <string>
#include <vector>

#include "convseq/answer/task_answers.h"

namespace convseq {

struct EvaluateTaskOptions {
  LengthBatchOptions batches;
  BootstrapOptions bootstrap;
  bool token_nll = false;  // also the likelihood of the reference answers, where there is a decoder
  // Called before each pass over the examples with the name of the pass, for a progress bar.
  std::function<void(const char* pass)> on_pass = [](const char*) {};
};

struct TaskEvaluation {
  std::vector<Outcome> outcomes;  // in the order of the split's examples
  Report report;
};

// Answers every example of a split and computes the metrics of the task: for `convseq evaluate`,
// for validation during fine-tuning, and for the test split after it.
TaskEvaluation evaluate_task(TaskAnswerer& answerer, const TaskSplit& split,
                             const EvaluateTaskOptions& options = {});

}  // namespace convseq
