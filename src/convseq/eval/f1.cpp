#include "convseq/eval/f1.h"

#include "convseq/eval/labels/label_counts.h"

namespace convseq {
namespace {

// The counts of every label as a function of a sample.
auto counts_of(std::span<const Outcome> outcomes, const std::vector<std::string>& labels) {
  return [counts = LabelCounts(outcomes, LabelNumbers(labels, outcomes))](Sample sample) {
    std::vector<ClassCounts> found = counts.of(sample);
    found.pop_back();  // texts that are not labels
    return found;
  };
}

}  // namespace

Statistic f1_of(std::span<const Outcome> outcomes, const std::string& positive_label) {
  return [counts = counts_of(outcomes, {positive_label})](Sample sample) {
    const ClassCounts positive = counts(sample).front();
    return positive.seen() ? positive.f1() : 0.0;
  };
}

Statistic macro_f1_of(std::span<const Outcome> outcomes, const std::vector<std::string>& labels) {
  return [counts = counts_of(outcomes, labels)](Sample sample) {
    double sum = 0;
    int64_t classes = 0;
    for (const ClassCounts& each : counts(sample)) {
      if (!each.seen()) continue;
      sum += each.f1();
      ++classes;
    }
    return classes == 0 ? 0.0 : sum / static_cast<double>(classes);
  };
}

Statistic micro_f1_of(std::span<const Outcome> outcomes, const std::vector<std::string>& labels) {
  return [counts = counts_of(outcomes, labels)](Sample sample) {
    ClassCounts total;
    for (const ClassCounts& each : counts(sample)) {
      total.right += each.right;
      total.answers += each.answers;
      total.truths += each.truths;
    }
    return total.seen() ? total.f1() : 0.0;
  };
}

}  // namespace convseq
