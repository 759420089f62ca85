#pragma once

#include "convseq/kernels/types.h"

namespace convseq::kernels {

// The gradient of a table whose rows were looked up: table[id] += sum of dy over the places of id.
// Sums in fp32, in a fixed order; each row that is touched is rounded once. Ids outside of the
// table count for nothing. Throws where the build has no nvcc.
struct EmbeddingShape {
  Type type = Type::Fp32;  // of dy and the table
  int64_t ids = 0;         // n
  int64_t rows = 0;        // of the table
  int64_t channels = 0;    // C
};

struct EmbeddingBackward {
  const int32_t* sorted = nullptr;  // [n], the ids in ascending order
  const int64_t* order = nullptr;   // [n], the row of dy that each belongs to
  const void* dy = nullptr;         // [n,C]
  void* table = nullptr;            // [rows,C], the gradient so far; added to
  void* workspace = nullptr;        // embedding_backward_workspace_cuda() bytes
};

void embedding_backward_cuda(const EmbeddingShape& shape, const EmbeddingBackward& arrays,
                             Stream stream);
size_t embedding_backward_workspace_cuda(const EmbeddingShape& shape);

}  // namespace convseq::kernels
