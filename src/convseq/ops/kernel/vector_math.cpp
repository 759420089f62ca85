#include "convseq/ops/kernel/vector_math.h"

#include <torch/types.h>
#include <torch/utils.h>

namespace convseq::ops {

void settle_vector_math() {
  [[maybe_unused]] static const bool settled = [] {
    const torch::NoGradGuard no_gradient;
    for (const auto type : {torch::kFloat32, torch::kFloat64}) {
      const auto one = torch::ones({1}, type);
      one.exp();
      one.log();
      one.sqrt();
    }
    return true;
  }();
}

}  // namespace convseq::ops
