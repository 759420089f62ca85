#pragma once

#include "convseq/ops/embedding.h"

namespace convseq::ops {

// fp32 or bf16 on a GPU.
bool has_embedding_kernel(const torch::Tensor& table);

namespace kernel {

// libtorch's lookup, and its gradient by kernels/embedding.h.
torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids);

}  // namespace kernel
}  // namespace convseq::ops
