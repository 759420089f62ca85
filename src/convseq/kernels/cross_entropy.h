#pragma once

#include "convseq/kernels/types.h"

namespace convseq::kernels {

// Cross-entropy of rows of logits x = scale · logits, with log p = log_softmax(x), t the target, ε
// the smoothing, ζ the z-loss and w the row's weight:
//   loss = w (−(1 − ε) log p_t − ε mean(log p) + ζ log²Z)
//   gradient = d loss / d x = w ((1 + 2 ζ log Z) p − (1 − ε) [t] − ε / V)
// Rows whose label is `ignored` have zero loss and gradient. fp32 inside. Throws in a build without
// nvcc.
struct CrossEntropyShape {
  int64_t rows = 0;     // N
  int64_t classes = 0;  // V
  float scale = 1;
  float smoothing = 0;
  float z_loss = 0;
  int64_t ignored = -100;
  Type gradient_type = Type::Fp32;
};

struct CrossEntropyArrays {
  const float* logits = nullptr;    // [N,V]
  const int64_t* labels = nullptr;  // [N]
  const float* weights = nullptr;   // [N]; null: all 1
  void* gradient = nullptr;         // [N,V]; null: not computed
  float* rows = nullptr;  // [N,4]: loss, −log p_t, ζ log²Z, 1 where t is the most likely class
};

void cross_entropy_cuda(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                        Stream stream);

}  // namespace convseq::kernels
