#include "convseq/answer/evaluate_task.h"

#include "convseq/base/all_finite.h"
#include "convseq/base/contains.h"

namespace convseq {
namespace {

Outcome outcome_of(const TaskExample& example, std::string prediction) {
  return {.prediction = std::move(prediction),
          .references = example.answers,
          .category = example.category};
}

Outcome outcome_of(const TaskExample& example, const LabelDecision& decision,
                   std::span<const double> scores) {
  LabelAnswer answer = decision.decide(scores);
  Outcome outcome = outcome_of(example, decision.text_of(answer));
  outcome.probabilities = std::move(answer.probabilities);
  if (decision.kind() == LabelKind::Single) return outcome;
  LabelSets& sets = outcome.label_sets.emplace();
  for (const size_t label : answer.chosen) sets.predicted.push_back(decision.labels()[label]);
  sets.truth = example.labels;
  return outcome;
}

// Fits the calibration first if that is asked for.
void answer_by_scores(TaskAnswerer& answerer, const TaskSplit& split,
                      const EvaluateTaskOptions& options, TaskEvaluation& result) {
  const ClassScores scores = answerer.scores(split.sources, options.batches);
  result.calibration = options.calibration;
  for (size_t i = 0; options.finite_scores && i < scores.size(); ++i) {
    require(all_finite(scores[i]), "{}: the model's scores of example {} are not finite",
            answerer.task().name, i + 1);
  }
  if (options.fit.any()) {
    result.calibration =
        fit_calibration(options.fit, options.calibration,
                        {.task = answerer.task(), .examples = split.examples, .scores = scores});
  }
  const LabelDecision decision(answerer.task().label_kind, result.labels, result.calibration);
  for (size_t i = 0; i < scores.size(); ++i) {
    result.outcomes.push_back(outcome_of(split.examples[i], decision, scores[i]));
  }
}

}  // namespace

TaskEvaluation evaluate_task(TaskAnswerer& answerer, const TaskSplit& split,
                             const EvaluateTaskOptions& options) {
  const Task& task = answerer.task();
  const std::vector<Metric>& metrics = options.metrics.empty() ? task.metrics : options.metrics;
  for (const Metric metric : metrics) {
    require(
        answerer.by() != AnswerBy::Greedy || !needs_probabilities(metric),
        "{}: the metric {} needs the probabilities of labels, which generated text does not have",
        task.name, name_of(metric));
  }
  options.on_pass("evaluate");
  TaskEvaluation result{.labels = task.labels, .outcomes = {}, .report = {}, .calibration = {}};
  if (answerer.by() == AnswerBy::Greedy) {
    require(!options.fit.any(), "{}: generated text has no probabilities to fit", task.name);
    std::vector<std::string> texts = answerer.generate(split.sources, options.batches);
    for (size_t i = 0; i < texts.size(); ++i) {
      result.outcomes.push_back(outcome_of(split.examples[i], std::move(texts[i])));
    }
  } else {
    answer_by_scores(answerer, split, options, result);
  }
  result.report = make_report(
      result.outcomes,
      {.metrics = metrics, .labels = label_set_of(task), .bootstrap = options.bootstrap});
  Engine& engine = answerer.engine();
  if (options.token_nll && engine.config().decoder_layers > 0) {
    options.on_pass("likelihood");
    result.report.tokens = score_tokens(
        answer_nlls(engine, split.sources, split.targets, options.batches), options.bootstrap);
  }
  return result;
}

std::vector<Metric> all_metrics(const Task& task, AnswerBy by) {
  std::vector<Metric> metrics = task.metrics;
  if (task.labels.empty()) return metrics;
  for (const Metric metric :
       {Metric::Matthews, Metric::RocAuc, Metric::AveragePrecision, Metric::CalibrationError}) {
    const bool listed = contains(metrics, metric);
    if (listed || (needs_probabilities(metric) && by == AnswerBy::Greedy)) continue;
    metrics.push_back(metric);
  }
  return metrics;
}

}  // namespace convseq
