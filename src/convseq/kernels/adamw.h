#pragma once

#include "convseq/kernels/types.h"

// The end of a training step for all parameters at once: the norm of all gradients, clipping, AdamW
// or nanoT5's AdamW-RMS (formulas in ops/reference/adamw.h), and a copy of the parameters in the
// model's type. Everything is decided on the device; sums have a fixed order.
namespace convseq::kernels {

struct AdamWTensor {
  float* parameter = nullptr;
  const void* gradient = nullptr;
  float* exp_avg = nullptr;     // running average of the gradient
  float* exp_avg_sq = nullptr;  // and of its square
  void* copy = nullptr;         // bf16, set to the new value; null: none
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
  bool scale_by_rms = true;  // multiply updates by max(1e-3, RMS of the parameter)
};

// What changes from step to step; in device memory, so that a captured step can be replayed.
struct AdamWStep {
  double learning_rate = 0;
  double bias_correction1 = 0;  // 1 − β1ᵗ
  double bias_correction2 = 0;  // 1 − β2ᵗ
};

struct AdamWArrays {
  const AdamWTensor* tensors = nullptr;  // on the host
  int64_t count = 0;
  const AdamWStep* step = nullptr;  // on the device, as all that follows
  const double* loss = nullptr;     // where it is not finite, nothing is updated
  double* norm = nullptr;           // written: of all gradients; likewise
  void* workspace = nullptr;        // adamw_workspace_cuda() bytes
};

void adamw_cuda(const AdamWOptions& options, const AdamWArrays& arrays, Stream stream);
size_t adamw_workspace_cuda(const AdamWTensor* tensors, int64_t count);

}  // namespace convseq::kernels
