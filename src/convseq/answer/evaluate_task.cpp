#include "convseq/answer/evaluate_task.h"

namespace convseq {
namespace {

std::vector<Outcome> outcomes_of(const TaskSplit& split, std::vector<std::string> answers) {
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < answers.size(); ++i) {
    outcomes.push_back({.prediction = std::move(answers[i]),
                        .references = split.examples[i].answers,
                        .category = split.examples[i].category});
  }
  return outcomes;
}

}  // namespace

TaskEvaluation evaluate_task(TaskAnswerer& answerer, const TaskSplit& split,
                             const EvaluateTaskOptions& options) {
  const Task& task = answerer.task();
  options.on_pass("evaluate");
  TaskEvaluation result;
  result.outcomes = outcomes_of(split, answerer.answer(split.sources, options.batches));
  result.report =
      make_report(result.outcomes, {.metrics = task.metrics,
                                    .labels = {.all = task.labels, .positive = task.positive_label},
                                    .bootstrap = options.bootstrap});
  Engine& engine = answerer.engine();
  if (options.token_nll && engine.config().decoder_layers > 0) {
    options.on_pass("likelihood");
    result.report.tokens = score_tokens(
        answer_nlls(engine, split.sources, split.targets, options.batches), options.bootstrap);
  }
  return result;
}

}  // namespace convseq
