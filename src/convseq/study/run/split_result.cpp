#include "convseq/study/run/split_result.h"

#include <cmath>

#include "convseq/base/contains.h"
#include "convseq/eval/squad_answer.h"

namespace convseq {
namespace {

// Six digits are more than a test set resolves, and keep files small.
double rounded(double value) { return std::round(1e6 * value) / 1e6; }

ExampleOutcomes outcomes_of(const Task& task, const std::vector<Outcome>& outcomes) {
  ExampleOutcomes found;
  const bool squad = contains(task.metrics, Metric::SquadF1);
  if (task.label_kind == LabelKind::Multi) return found;
  const Metric plain = task.labels.empty() ? Metric::ExactMatch : Metric::Accuracy;
  found.metric = name_of(squad ? Metric::SquadF1 : plain);
  for (const Outcome& outcome : outcomes) {
    const double score =
        squad ? squad_f1(outcome.prediction, outcome.references) : (is_right(outcome) ? 1.0 : 0.0);
    found.values.push_back(static_cast<uint8_t>(std::lround(255 * score)));
    if (!task.positive_label.empty()) {
      found.positives.push_back(truth_of(outcome) == task.positive_label ? 1 : 0);
    }
  }
  return found;
}

}  // namespace

SplitResult split_result(const Task& task, const TaskEvaluation& evaluation, bool with_outcomes) {
  const Report& report = evaluation.report;
  SplitResult result{.examples = std::ssize(evaluation.outcomes),
                     .collapsed = report.collapse.has_value()};
  for (const Score& score : report.scores) {
    result.metrics.emplace_back(name_of(score.metric), rounded(score.value));
  }
  for (const auto& [category, scores] : report.by_category) {
    result.categories[category] = rounded(scores.front().value);
    result.category_examples[category] = scores.front().count;
  }
  if (with_outcomes) result.outcomes = outcomes_of(task, evaluation.outcomes);
  return result;
}

}  // namespace convseq
