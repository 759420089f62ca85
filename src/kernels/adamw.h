#pragma once

#include "convseq/kernels/types.h"

// The end of a training step over all parameters at once: the norm of all gradients, clipping,
// AdamW or nanoT5's AdamW-RMS (train/adamw.h), and the parameters in the type the model computes
// in. All is decided on the device, in a fixed order of sums. Throws where the build has no nvcc.
namespace convseq::kernels {

struct AdamWTensor {
  float* value = nullptr;
  const void* gradient = nullptr;
  float* mean = nullptr;
  float* square = nullptr;
  void* copy = nullptr;  // bf16, of the new value; null: none
  int64_t size = 0;
  Type gradient_type = Type::Fp32;
  bool decays = false;
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double max_norm = 1;
  bool by_size = true;  // steps are times max(1e-3, RMS of the parameter)
};

// What differs from step to step, on the device so that a captured step may be replayed.
struct AdamWStep {
  double learning_rate = 0;
  double mean_share = 0;    // 1 − β1ᵗ
  double square_share = 0;  // 1 − β2ᵗ
};

struct AdamWArrays {
  const AdamWTensor* tensors = nullptr;  // on the host
  int64_t count = 0;
  const AdamWStep* step = nullptr;  // on the device, as all that follows
  const double* loss = nullptr;     // where it is not finite, nothing moves
  double* norm = nullptr;           // of all gradients; where it is not finite, nothing moves
  void* workspace = nullptr;        // adamw_workspace_cuda() bytes
};

void adamw_cuda(const AdamWOptions& options, const AdamWArrays& arrays, Stream stream);
size_t adamw_workspace_cuda(const AdamWTensor* tensors, int64_t count);

}  // namespace convseq::kernels
