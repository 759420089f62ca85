#pragma once

#include <string>
#include <vector>

#include "convseq/data/task/row.h"
#include "convseq/data/task/task.h"

namespace convseq {

// The labels of a row of a multi-label task, in the order of the task's labels and each once; none
// is an answer too. They are the items of the target's list, the parts of its text between
// separators, or the names of the label columns that hold 1. An Error names what is no label.
std::vector<std::string> row_labels(const Task& task, const Row& row);

}  // namespace convseq
