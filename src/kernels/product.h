#pragma once

#include "kernels/conv.h"

// Matrix products of bf16 on a GPU, sums in fp32, with what stands beside them done on the way
// instead of in passes of its own. Through cuBLASLt; they throw where the build has none.
namespace convseq::kernels {

// A matrix in memory, row by row.
struct Matrix {
  const void* values = nullptr;
  int64_t stride = 0;       // elements from a row to the next
  bool transposed = false;  // its transpose is meant
};

enum class ProductEnd {
  Plain,  // a·b + add
  Relu,   // relu(a·b)
};

struct Product {
  int64_t rows = 0, columns = 0, inner = 0;  // [rows,columns] = [rows,inner] · [inner,columns]
  ProductEnd end = ProductEnd::Plain;
  Matrix a, b;
  const void* add = nullptr;  // [rows,columns], in rows as `out`; null: nothing is added
  void* out = nullptr;
  int64_t out_stride = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
};

void product_cuda(const Product& product, Stream stream);

// While on, a product of a new size tries the library's best guesses and keeps the fastest for the
// rest of the process; otherwise its first guess is taken. Of the whole process.
void tune_products(bool on);

bool built_with_products();
size_t product_workspace_bytes();

}  // namespace convseq::kernels
