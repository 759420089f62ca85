#pragma once

#include <span>
#include <string>
#include <vector>

#include "convseq/data/task/metric.h"
#include "convseq/eval/bootstrap.h"
#include "convseq/eval/outcome.h"

namespace convseq {

// What a task says of its answers.
struct LabelSet {
  std::vector<std::string> all = {};  // none: answers are free text
  std::string positive = {};          // the class of Metric::F1
};

// The metric as a function of a sample of the outcomes, which may go away afterwards: what needs
// the texts is computed here, once.
Statistic statistic_of(Metric metric, std::span<const Outcome> outcomes, const LabelSet& labels);

}  // namespace convseq
