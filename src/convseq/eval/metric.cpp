#include "convseq/eval/metric.h"

#include "convseq/base/error.h"
#include "convseq/eval/f1.h"
#include "convseq/eval/labels/calibration_error.h"
#include "convseq/eval/labels/matthews.h"
#include "convseq/eval/labels/ranking.h"
#include "convseq/eval/squad_answer.h"

namespace convseq {
namespace {

template <class Value>
Statistic mean_of(std::span<const Outcome> outcomes, Value value) {
  std::vector<double> values;
  for (const Outcome& outcome : outcomes) values.push_back(value(outcome));
  return [values = std::move(values)](Sample sample) {
    double sum = 0;
    for (uint32_t example : sample) sum += values[example];
    return sum / static_cast<double>(sample.size());
  };
}

void require_probabilities(Metric metric, std::span<const Outcome> outcomes,
                           const LabelSet& labels) {
  for (const Outcome& outcome : outcomes) {
    require(!labels.all.empty() && outcome.probabilities.size() == labels.all.size(),
            "the metric {} needs the probability of each label, which generated text does not have",
            name_of(metric));
  }
}

}  // namespace

LabelSet label_set_of(const Task& task) {
  return {.all = task.labels, .positive = task.positive_label, .kind = task.label_kind};
}

Statistic statistic_of(Metric metric, std::span<const Outcome> outcomes, const LabelSet& labels) {
  if (needs_probabilities(metric)) require_probabilities(metric, outcomes, labels);
  switch (metric) {
    case Metric::Accuracy:
    case Metric::ExactMatch:  // the same computation, for free text
      return mean_of(outcomes, is_right);
    case Metric::F1:
      require(!labels.positive.empty(), "the metric f1 needs the name of the positive class");
      return f1_of(outcomes, labels.positive);
    case Metric::MacroF1:
      return macro_f1_of(outcomes, labels.all);
    case Metric::MicroF1:
      return micro_f1_of(outcomes, labels.all);
    case Metric::Matthews:
      return matthews_of(outcomes, labels);
    case Metric::RocAuc:
      return roc_auc_of(outcomes, labels);
    case Metric::AveragePrecision:
      return average_precision_of(outcomes, labels);
    case Metric::CalibrationError:
      return calibration_error_of(outcomes, labels);
    case Metric::SquadExactMatch:
      return mean_of(outcomes, [](const Outcome& outcome) {
        return squad_exact_match(outcome.prediction, outcome.references);
      });
    case Metric::SquadF1:
      return mean_of(outcomes, [](const Outcome& outcome) {
        return squad_f1(outcome.prediction, outcome.references);
      });
  }
  fail("metric {} is not known", static_cast<int>(metric));
}

}  // namespace convseq
