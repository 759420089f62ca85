#pragma once

#include "convseq/kernels/types.h"

// Matmuls of bf16 on a GPU, sums in fp32, with what stands beside them done on the way
// instead of in passes of its own. Through cuBLASLt, and through CUTLASS what that does not do
// well; they throw where the build has none.
namespace convseq::kernels {

// A matrix in memory, row by row.
struct Matrix {
  const void* values = nullptr;
  int64_t stride = 0;       // elements from a row to the next
  bool transposed = false;  // its transpose is meant
};

enum class Epilogue {
  Plain,  // a·b, plus `other` where there is one
  Relu,   // relu(a·b)
  Gated,  // a·b where `other` is positive, 0 elsewhere: what comes back through a ReLU
};

struct Matmul {
  int64_t rows = 0, columns = 0, inner = 0;  // [rows,columns] = [rows,inner] · [inner,columns]
  Epilogue epilogue = Epilogue::Plain;
  Matrix a, b;
  const void* other = nullptr;  // [rows,columns], in rows as `out`
  void* out = nullptr;
  int64_t out_stride = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

void matmul_cuda(const Matmul& matmul, Stream stream);

// Not every build, GPU and alignment has gated matmuls.
bool can_gate(const Matmul& matmul);

// While on, a matmul of a new size tries the library's best guesses and keeps the fastest for the
// rest of the process; otherwise its first guess is taken. Of the whole process.
void tune_matmuls(bool on);

bool built_with_matmuls();
size_t matmul_workspace_bytes();

}  // namespace convseq::kernels
