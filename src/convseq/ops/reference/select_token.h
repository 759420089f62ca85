#pragma once

#include "convseq/ops/select_token.h"

namespace convseq::ops::reference {

// logits [B,V].
void select_token(const torch::Tensor& logits, const SelectTokenOptions& options,
                  TokenSelection& selection);

}  // namespace convseq::ops::reference
