#pragma once

#include <torch/types.h>

#include "convseq/base/error.h"

namespace convseq::ops {

// A gradient of ours has none of its own; better no answer than a wrong one.
inline void refuse_double_backward(const char* op, const char* type_that_can = "float64") {
  require(!torch::GradMode::is_enabled(),
          "{}: its gradient cannot be differentiated again; use {} for that", op, type_that_can);
}

}  // namespace convseq::ops
