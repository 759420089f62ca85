#pragma once

#include <functional>
#include <map>
#include <vector>

#include "convseq/data/synth/family/task_family.h"

namespace convseq::synth {

// Examples per split, rounded up to whole groups so that labels stay balanced.
struct SplitSizes {
  int64_t train = 2000;
  int64_t validation = 500;
  int64_t test = 1000;  // also of the generalisation split, where a task has one
};

struct TaskData {
  TaskDescription description;
  std::map<Split, std::vector<Example>> splits;
};

struct DrawOptions {
  SplitSizes sizes = {};
  uint64_t seed = 1;
  std::function<void()> poll = [] {};  // called for each group; an exception ends the work
};

// A function of its arguments alone. No text of a distinct field occurs in two groups of examples;
// throws an Error where a family has too few different texts for that.
TaskData draw_task(const TaskFamily& family, const DrawOptions& options);

// Throws where a text of a distinct field occurs in two splits.
void check_no_leaks(const TaskData& data);

}  // namespace convseq::synth
