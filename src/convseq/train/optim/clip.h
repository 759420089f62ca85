#pragma once

#include <torch/types.h>

namespace convseq {

// Scales the gradients of all parameters so that their global 2-norm is at most max_norm, and
// returns the norm before scaling. If the norm is not finite, the gradients are unchanged and the
// caller skips the step. With an infinite max_norm the norm is only measured.
double clip_by_global_norm(torch::TensorList parameters, double max_norm);

}  // namespace convseq
