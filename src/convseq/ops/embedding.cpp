#include "convseq/ops/embedding.h"

#include "convseq/ops/kernel/embedding.h"
#include "convseq/ops/reference/embedding.h"

namespace convseq::ops {

torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids) {
  if (has_embedding_kernel(table)) return kernel::embedding(table, ids);
  return reference::embedding(table, ids);
}

}  // namespace convseq::ops
