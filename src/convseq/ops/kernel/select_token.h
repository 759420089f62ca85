#pragma once

#include "convseq/ops/select_token.h"

namespace convseq::ops {

// fp32 or bf16 on a GPU: logits [B,V].
bool has_select_token_kernel(const torch::Tensor& logits, const TokenSelection& selection);

namespace kernel {

void select_token(const torch::Tensor& logits, const SelectTokenOptions& options,
                  TokenSelection& selection);

}  // namespace kernel
}  // namespace convseq::ops
