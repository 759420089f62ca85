#pragma once

#include "convseq/kernels/types.h"

// Matmuls of bf16 on a GPU with fp32 sums and fused epilogues. They run on cuBLASLt, on CUTLASS
// where that is faster or has an epilogue that cuBLASLt lacks, and few rows on a kernel of their
// own.
namespace convseq::kernels {

// A row-major matrix.
struct Matrix {
  const void* values = nullptr;
  int64_t stride = 0;       // elements from one row to the next
  bool transposed = false;  // use its transpose
};

enum class Epilogue {
  Plain,         // a·b, plus c where given
  Relu,          // relu(a·b)
  ReluBackward,  // a·b where c > 0, else 0: the gradient of a ReLU whose output is c
};

struct Matmul {
  int64_t rows = 0, columns = 0, inner = 0;  // [rows,columns] = [rows,inner] · [inner,columns]
  Epilogue epilogue = Epilogue::Plain;
  Matrix a, b;
  const void* c = nullptr;  // [rows,columns] with the stride of `out`; the epilogue's operand
  void* out = nullptr;
  int64_t out_stride = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  // No kernel of the captured graph writes b, so that it may be loaded before the kernels that
  // precede this one have finished.
  bool constant_b = false;
};

void matmul_cuda(const Matmul& matmul, Stream stream);

// out = residual + LayerNorm(a·b), in one kernel: the end of a branch in a step of decoding. The
// matmul has no c and Epilogue::Plain; b is transposed.
struct MatmulNorm {
  Matmul matmul;
  const void* weight = nullptr;    // [columns], of the norm
  const void* bias = nullptr;      // [columns], of the norm
  const void* residual = nullptr;  // [rows,columns] with the stride of `out`
  float eps = 0;
};

// Whether there is such a kernel for this build and GPU and a matmul of this size and alignment: up
// to 64 rows of 512 or 768 columns.
bool has_matmul_norm(const Matmul& matmul);
void matmul_norm_cuda(const MatmulNorm& call, Stream stream);

// Whether this build and GPU have the epilogue for a matmul of this size and alignment.
bool has_relu_backward_epilogue(const Matmul& matmul);

// While on, the first matmul of each size times the algorithms that the library's heuristic
// proposes and keeps the fastest for the rest of the process; otherwise it uses the first proposal.
// The setting holds for the whole process.
void tune_matmuls(bool on);

bool built_with_matmuls();
size_t matmul_workspace_bytes();

}  // namespace convseq::kernels
