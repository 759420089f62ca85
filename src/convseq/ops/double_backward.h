#pragma once

#include <torch/types.h>

#include "convseq/base/error.h"

namespace convseq::ops {

// The backward passes of our kernels are not differentiable: refuse instead of a wrong result.
inline void refuse_double_backward(const char* op, const char* type_that_can = "float64") {
  require(!torch::GradMode::is_enabled(),
          "{}: second derivatives are not supported in this type; use {}", op, type_that_can);
}

}  // namespace convseq::ops
