#include "convseq/train/run/run_log.h"

namespace convseq {
namespace {

// A run that starts over supersedes all steps of the one before it.
std::optional<int64_t> resumed_step_of_board(const RunLogOptions& options) {
  if (options.resumed_step || !std::filesystem::exists(options.folder / "runs")) {
    return options.resumed_step;
  }
  return -1;
}

}  // namespace

RunLog::RunLog(const RunLogOptions& options)
    : metrics_(options.folder / "metrics.jsonl", options.resumed_step),
      board_(options.folder / "runs", {.resumed_step = resumed_step_of_board(options)}) {
  if (options.progress) bar_.emplace(options.bar);
}

void RunLog::write(const Step& step) {
  const StepResult& result = step.result;
  const double speed = step.pace.tokens_per_second(), busy = step.pace.utilisation();
  metrics_.write(step.number, {{"loss", result.loss},
                               {"nll", result.nll},
                               {"accuracy", result.accuracy},
                               {"learning_rate", step.learning_rate},
                               {"gradient_norm", result.gradient_norm},
                               {"source_tokens", step.source_tokens},
                               {"source_tokens_per_second", speed},
                               {"flop_utilisation", busy},
                               {"peak_memory_bytes", step.pace.peak_memory_bytes},
                               {"skipped_steps", step.skipped_steps}});
  board_.scalars(step.number, std::vector<Scalar>{{"train/loss", result.loss},
                                                  {"train/accuracy", result.accuracy},
                                                  {"train/learning_rate", step.learning_rate},
                                                  {"train/gradient_norm", result.gradient_norm},
                                                  {"train/source_tokens_per_second", speed},
                                                  {"train/flop_utilisation", busy}});
}

void RunLog::validation(int64_t step, const std::vector<NamedValue>& values) {
  Json line;
  std::vector<std::string> tags;
  for (const NamedValue& each : values) {
    line["validation_" + each.name] = each.value;
    tags.push_back("validation/" + each.name);
  }
  std::vector<Scalar> scalars;
  for (size_t i = 0; i < values.size(); ++i) scalars.push_back({tags[i], values[i].value});
  metrics_.write(step, line);
  board_.scalars(step, scalars);
}

void RunLog::show(int64_t done, const Step& step) {
  if (!bar_) return;
  bar_->update(done, fmt::format("loss {:.3f}  lr {:.2e}  {}", step.result.loss, step.learning_rate,
                                 step.pace.describe()));
}

void RunLog::finish() {
  if (bar_) bar_->finish();
}

}  // namespace convseq
