#pragma once

#include "convseq/kernels/types.h"

namespace convseq::kernels {

// The gradient of an embedding table: table[id] += sum of dy over the positions of id. Sums are
// fp32 and have a fixed order; each row is rounded once. Ids outside of the table are ignored.
// Throws in a build without nvcc.
struct EmbeddingShape {
  Type type = Type::Fp32;  // of dy and the table
  int64_t ids = 0;         // n
  int64_t rows = 0;        // of the table
  int64_t channels = 0;    // C
};

struct EmbeddingBackward {
  const int32_t* sorted = nullptr;  // [n], the ids in ascending order
  const int64_t* order = nullptr;   // [n], the row of dy of each
  const void* dy = nullptr;         // [n,C]
  void* table = nullptr;            // [rows,C], the gradient so far, which is added to
  void* workspace = nullptr;        // embedding_backward_workspace_cuda() bytes
};

void embedding_backward_cuda(const EmbeddingShape& shape, const EmbeddingBackward& arrays,
                             Stream stream);
size_t embedding_backward_workspace_cuda(const EmbeddingShape& shape);

}  // namespace convseq::kernels
