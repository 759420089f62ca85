#include "convseq/ops/reference/embedding.h"

#include <torch/types.h>

#include "convseq/ops/embedding_function.h"
#include "convseq/ops/reference/precision.h"

namespace convseq::ops::reference {
namespace {

torch::Tensor fp32_sums(const torch::Tensor& dy, const torch::Tensor& ids, int64_t rows) {
  return at::embedding_dense_backward(dy.to(torch::kFloat32), ids, rows, /*padding_idx=*/-1,
                                      /*scale_grad_by_freq=*/false)
      .to(dy.scalar_type());
}

}  // namespace

torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids) {
  return needs_fp32_sums(table) ? EmbeddingFunction<fp32_sums>::apply(table, ids)
                                : at::embedding(table, ids);
}

}  // namespace convseq::ops::reference
