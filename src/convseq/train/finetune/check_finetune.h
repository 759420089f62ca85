#pragma once

#include "convseq/train/finetune.h"

namespace convseq {

// Throws an Error that names the option or file, if the model, the task, the tokenizer and the
// form of the answers do not go together.
void check_options(const FinetuneOptions& options, const Tokenizer& tokenizer, int processes);

}  // namespace convseq
