#pragma once

#include <span>
#include <string>
#include <vector>

#include "convseq/data/task/task.h"
#include "convseq/eval/bootstrap.h"
#include "convseq/eval/outcome.h"

namespace convseq {

// The labels of a task.
struct LabelSet {
  std::vector<std::string> all = {};  // none: answers are free text
  std::string positive = {};          // the class of Metric::F1
  LabelKind kind = LabelKind::Single;
};
LabelSet label_set_of(const Task& task);

// The metric as a function of a sample of the outcomes. Whatever needs the texts is computed once,
// here; `outcomes` may be destroyed afterwards.
Statistic statistic_of(Metric metric, std::span<const Outcome> outcomes, const LabelSet& labels);

}  // namespace convseq
