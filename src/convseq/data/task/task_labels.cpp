#include "convseq/data/task/task_labels.h"

#include <set>

#include "convseq/base/error.h"

namespace convseq {

std::vector<std::string> labels_in(const Task& task, const std::string& split,
                                   TaskReaderOptions options) {
  constexpr size_t kMost = 1000;
  std::set<std::string> labels;
  TaskReader reader(task, split, std::move(options));
  for (TaskExample example; reader.next(example);) {
    if (task.label_kind == LabelKind::Multi) {
      labels.insert(example.labels.begin(), example.labels.end());
    } else {
      labels.insert(example.target);
    }
    require(labels.size() <= kMost,
            "{}: the split {} has more than {} different targets; are they free text? {} names "
            "the labels",
            task.name, split, kMost, OptionName("labels"));
  }
  return {labels.begin(), labels.end()};
}

}  // namespace convseq
