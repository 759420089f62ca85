#pragma once

#include "convseq/train/finetune.h"

namespace convseq {

struct FinetuneSplits {
  TaskSplit train;
  TaskSplit validation;  // empty: none
};

// The split to train on: "train", or the only one that a task has (a single table is "all").
// Validation and test data are never used for training.
std::string training_split(const Task& task);

// Without a validation split a share of the training examples is held out. Which ones depends only
// on the seed.
FinetuneSplits read_splits(const FinetuneOptions& options, const Tokenizer& tokenizer);

}  // namespace convseq
