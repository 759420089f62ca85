#pragma once

#include <string>
#include <vector>

#include "convseq/data/task/task_reader.h"

namespace convseq {

// The different targets of a split, in order of their names: the labels of a task that lists none.
// An Error where there are more than a thousand, since then targets are free text.
std::vector<std::string> labels_in(const Task& task, const std::string& split,
                                   TaskReaderOptions options = {});

}  // namespace convseq
