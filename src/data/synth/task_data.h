#pragma once

#include <functional>
#include <map>
#include <vector>

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

// Examples in each split; rounded up to whole groups, so that labels stay balanced.
struct SplitSizes {
  int64_t train = 2000;
  int64_t validation = 500;
  int64_t test = 1000;  // and generalisation, where a task has it
};

struct TaskData {
  TaskDescription description;
  std::map<Split, std::vector<Example>> splits;
};

struct DrawOptions {
  SplitSizes sizes = {};
  uint64_t seed = 1;
  std::function<void()> poll = [] {};  // called for each group; what it throws ends the work
};

// A function of its arguments alone. No text of a distinct field stands in two groups of examples;
// where a family has too few different texts for that, an Error says so.
TaskData draw_task(const TaskFamily& family, const DrawOptions& options);

// Throws where a text of a distinct field stands in two splits.
void check_no_leaks(const TaskData& data);

}  // namespace convseq::synth
