#pragma once

#include "convseq/ops/cross_entropy.h"

namespace convseq::ops::reference {

// With x = scale · logits, log p = log_softmax(x), t the target, ε the smoothing, ζ the z-loss and
// w the row's weight:
//   loss = w (−(1 − ε) log p_t − ε mean(log p) + ζ log²Z)
//   gradient = d loss / d x = w ((1 + 2 ζ log Z) p − (1 − ε) [t] − ε / V)
// Multiplies `logits` by the scale in place.
CrossEntropy cross_entropy(torch::Tensor logits, const torch::Tensor& labels,
                           const CrossEntropyOptions& options);

}  // namespace convseq::ops::reference
