#include "convseq/ops/adamw.h"

#include <algorithm>

#include "convseq/ops/kernel/adamw.h"
#include "convseq/ops/reference/adamw.h"

namespace convseq::ops {

torch::Tensor adamw(const std::vector<AdamWTensors>& tensors, const kernels::AdamWOptions& options,
                    const torch::Tensor& step, const torch::Tensor& loss) {
  const bool all = std::all_of(tensors.begin(), tensors.end(), [](const AdamWTensors& each) {
    return has_adamw_kernel(each.parameter);
  });
  if (all) return kernel::adamw(tensors, options, step, loss);
  return reference::adamw(tensors, options, step, loss);
}

}  // namespace convseq::ops
