#pragma once

#include "convseq/kernels/types.h"

// Norms over the last dimension, fused with the additions of a residual stream: one pass over the
// rows per direction. The formulas are in ops/reference/norm.h; statistics and sums are fp32 and
// have a fixed order. The functions throw in a build without nvcc.
namespace convseq::kernels {

struct NormShape {
  Type type = Type::Fp32;  // of all arrays but the statistics
  int64_t rows = 0;        // N
  int64_t channels = 0;    // C
  bool centred = true;     // LayerNorm, with a bias; otherwise RMSNorm
  float eps = 0;
};

struct NormForward {
  const void* x = nullptr;         // [N,C]
  const void* weight = nullptr;    // [C]
  const void* bias = nullptr;      // [C]; where centred
  const void* residual = nullptr;  // [N,C], added to the output; null: none
  void* y = nullptr;               // [N,C]
  float* mean = nullptr;           // [N]; where centred
  float* scale = nullptr;          // [N], 1 / sqrt(variance + eps)
};

struct NormBackward {
  const void* x = nullptr;
  const void* weight = nullptr;
  const float* mean = nullptr;  // where centred
  const float* scale = nullptr;
  const void* dy = nullptr;
  const void* dx_to_add = nullptr;  // [N,C], another gradient of x, added to dx; null: none
  void* dx = nullptr;
  void* dweight = nullptr;
  void* dbias = nullptr;      // where centred
  void* workspace = nullptr;  // norm_backward_workspace_cuda() bytes
};

void norm_forward_cuda(const NormShape& shape, const NormForward& arrays, Stream stream);
void norm_backward_cuda(const NormShape& shape, const NormBackward& arrays, Stream stream);
size_t norm_backward_workspace_cuda(const NormShape& shape);

}  // namespace convseq::kernels
