#include "convseq/ops/reference/embedding.h"

#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/ops/double_backward.h"
#include "convseq/ops/reference/precision.h"

namespace convseq::ops::reference {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class Fp32SumEmbedding : public torch::autograd::Function<Fp32SumEmbedding> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& table,
                               const torch::Tensor& ids) {
    context->save_for_backward({ids});
    context->saved_data["rows"] = table.size(0);
    return at::embedding(table, ids);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_double_backward("embedding");
    const auto& dy = gradients[0];
    const auto sums = at::embedding_dense_backward(
        dy.to(torch::kFloat32), context->get_saved_variables()[0],
        context->saved_data["rows"].toInt(), /*padding_idx=*/-1, /*scale_grad_by_freq=*/false);
    return {sums.to(dy.scalar_type()), {}};
  }
};

}  // namespace

torch::Tensor embedding(const torch::Tensor& table, const torch::Tensor& ids) {
  return needs_fp32_sums(table) ? Fp32SumEmbedding::apply(table, ids) : at::embedding(table, ids);
}

}  // namespace convseq::ops::reference
