#pragma once

#include "convseq/train/finetune.h"

namespace convseq {

// The index of a label of the task; the number of labels if it is none of them.
int32_t class_of(const Task& task, const std::string& label);

// The training examples as ids with their weights. Targets are the text of the answer, or those of
// a pooled head.
std::vector<Example> examples_of(const FinetuneOptions& options, TaskSplit train);

// With label sets, a class weight is that of the examples that have the label, in the loss of that
// label; balanced weights give them as much weight as those that do not have it. Undefined if all
// are 1.
torch::Tensor positive_weights(const FinetuneOptions& options, const TaskSplit& train);

}  // namespace convseq
