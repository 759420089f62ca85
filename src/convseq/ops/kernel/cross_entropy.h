#pragma once

#include "convseq/ops/cross_entropy.h"

namespace convseq::ops {

// Contiguous fp32 on a GPU.
bool has_cross_entropy_kernel(const torch::Tensor& logits);

namespace kernel {

// kernels/cross_entropy.h: one pass over the logits, which stay as they are.
CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options);

}  // namespace kernel
}  // namespace convseq::ops
