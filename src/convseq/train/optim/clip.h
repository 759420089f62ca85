#pragma once

#include <torch/types.h>

namespace convseq {

// Scales the gradients of all parameters so that their joint 2-norm is at most max_norm, and
// returns the norm they had. A norm that is not finite leaves them as they are: the caller skips
// the step. An infinite max_norm only measures.
double clip_by_global_norm(torch::TensorList parameters, double max_norm);

}  // namespace convseq
