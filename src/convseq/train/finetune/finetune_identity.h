#pragma once

#include "convseq/train/finetune.h"

namespace convseq {

// What decides the result of a fine-tuning run: a run goes on only from one with the same.
RunIdentity identity_of(const FinetuneOptions& options, const Tokenizer& tokenizer,
                        const std::vector<Example>& examples, const TaskSplit& validation);

}  // namespace convseq
