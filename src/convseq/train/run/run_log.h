#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "convseq/base/metrics/metrics_log.h"
#include "convseq/base/metrics/tensorboard.h"
#include "convseq/base/progress.h"
#include "convseq/train/run/pace.h"
#include "convseq/train/step/train_step.h"

namespace convseq {

struct NamedValue {
  std::string name;
  double value = 0;
};

struct RunLogOptions {
  std::filesystem::path folder;
  bool progress = true;
  ProgressOptions bar;
  std::optional<int64_t> resumed_step;
};

// The output of a run in progress: a progress bar, metrics.jsonl and TensorBoard events.
class RunLog {
 public:
  explicit RunLog(const RunLogOptions& options);

  struct Step {
    int64_t number = 0;
    double learning_rate = 0;
    StepResult result;
    int64_t source_tokens = 0;  // of the whole run
    int64_t skipped_steps = 0;
    Pace pace;  // since the last log line
  };
  void write(const Step& step);
  void validation(int64_t step, const std::vector<NamedValue>& values);
  void show(int64_t done, const Step& step);  // on the progress bar
  void finish();

 private:
  MetricsLog metrics_;
  TensorBoard board_;
  std::optional<Progress> bar_;
};

}  // namespace convseq
