#include "convseq/eval/labels/matthews.h"

#include <cmath>

#include "convseq/eval/labels/label_counts.h"

namespace convseq {
namespace {

// R_K = (c s − Σ pₖ tₖ) / √((s² − Σ pₖ²)(s² − Σ tₖ²)): s examples, c of them right, class k
// answered pₖ times and true tₖ times.
struct Correlation {
  double right = 0, both = 0, answers = 0, truths = 0;

  void add(double class_right, double class_answers, double class_truths) {
    right += class_right;
    both += class_answers * class_truths;
    answers += class_answers * class_answers;
    truths += class_truths * class_truths;
  }
  double value(double examples) const {
    const double spread = (examples * examples - answers) * (examples * examples - truths);
    return spread > 0 ? (right * examples - both) / std::sqrt(spread) : 0;
  }
};

double add_all(const std::vector<ClassCounts>& counts, double examples) {
  Correlation correlation;
  for (const ClassCounts& each : counts) {
    correlation.add(static_cast<double>(each.right), static_cast<double>(each.answers),
                    static_cast<double>(each.truths));
  }
  return correlation.value(examples);
}

// Of one label: the classes are "has it" and "does not have it".
double of_label(const ClassCounts& counts, double examples) {
  const auto right = static_cast<double>(counts.right);
  const auto answers = static_cast<double>(counts.answers);
  const auto truths = static_cast<double>(counts.truths);
  Correlation correlation;
  correlation.add(right, answers, truths);
  correlation.add(examples - answers - truths + right, examples - answers, examples - truths);
  return correlation.value(examples);
}

}  // namespace

Statistic matthews_of(std::span<const Outcome> outcomes, const LabelSet& labels) {
  const LabelNumbers numbers(labels.all, outcomes);
  return [counts = LabelCounts(outcomes, numbers), labels = numbers.size(),
          kind = labels.kind](Sample sample) {
    const auto examples = static_cast<double>(sample.size());
    const std::vector<ClassCounts> found = counts.of(sample);
    if (kind == LabelKind::Single) return add_all(found, examples);
    double sum = 0;
    for (size_t label = 0; label < labels; ++label) sum += of_label(found[label], examples);
    return sum / static_cast<double>(labels);
  };
}

}  // namespace convseq
