#include "convseq/ops/reference/linear.h"

#include <torch/types.h>

namespace convseq::ops::reference {

torch::Tensor linear(const torch::Tensor& x, const torch::Tensor& weight) {
  return at::linear(x, weight);
}

torch::Tensor relu_feed_forward(const torch::Tensor& x, const torch::Tensor& up,
                                const torch::Tensor& down) {
  return at::linear(at::relu(at::linear(x, up)), down);
}

}  // namespace convseq::ops::reference
