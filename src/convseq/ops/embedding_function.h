#pragma once

#include <torch/autograd.h>
#include <torch/types.h>

#include "convseq/ops/double_backward.h"

namespace convseq::ops {

// table[ids], with a gradient of our own: kGradient(dy, ids, rows of the table) -> [rows,C].
template <auto kGradient>
class EmbeddingFunction : public torch::autograd::Function<EmbeddingFunction<kGradient>> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& table, const torch::Tensor& ids) {
    context->save_for_backward({ids});
    context->saved_data["rows"] = table.size(0);
    return at::embedding(table, ids);
  }

  static torch::autograd::variable_list backward(
      torch::autograd::AutogradContext* context,
      const torch::autograd::variable_list& grad_outputs) {
    refuse_double_backward("embedding");
    return {kGradient(grad_outputs[0], context->get_saved_variables()[0],
                      context->saved_data["rows"].toInt()),
            {}};
  }
};

}  // namespace convseq::ops
