#include "convseq/eval/metric.h"

#include "convseq/base/error.h"
#include "convseq/eval/f1.h"
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

}  // namespace

Statistic statistic_of(Metric metric, std::span<const Outcome> outcomes, const LabelSet& labels) {
  switch (metric) {
    case Metric::Accuracy:
    case Metric::ExactMatch:  // the same computation, for free text
      return mean_of(outcomes, is_right);
    case Metric::F1:
      require(!labels.positive.empty(), "the metric f1 needs the name of the positive class");
      return f1_of(outcomes, labels.positive);
    case Metric::MacroF1:
      return macro_f1_of(outcomes, labels.all);
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
