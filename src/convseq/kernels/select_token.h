#pragma once

#include "convseq/kernels/types.h"

// The greedy choice of the next token, as ops/select_token.h describes it. Throws in a build
// without nvcc.
namespace convseq::kernels {

struct SelectTokenShape {
  Type type = Type::Fp32;  // of the logits
  int64_t rows = 0;        // B
  int64_t classes = 0;     // V, at least 1
  int64_t stride = 0;      // of the logits, in values from one row to the next
  int64_t capacity = 0;
  int64_t eos = 0, pad = 0;
};

struct SelectTokenArrays {
  const void* logits = nullptr;        // [B,V]
  int64_t* ids = nullptr;              // [B,capacity]
  float* log_probabilities = nullptr;  // [B,capacity]
  int64_t* lengths = nullptr;          // [B]
  bool* ended = nullptr;               // [B]
  int64_t* next = nullptr;             // [B]
};

void select_token_cuda(const SelectTokenShape& shape, const SelectTokenArrays& arrays,
                       Stream stream);

}  // namespace convseq::kernels
