#include "convseq/ops/cross_entropy.h"

#include "convseq/ops/kernel/cross_entropy.h"
#include "convseq/ops/reference/cross_entropy.h"

namespace convseq::ops {

CrossEntropy cross_entropy(const torch::Tensor& logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options) {
  if (has_cross_entropy_kernel(logits)) return kernel::cross_entropy(logits, labels, options);
  return reference::cross_entropy(logits, labels, options);
}

}  // namespace convseq::ops
