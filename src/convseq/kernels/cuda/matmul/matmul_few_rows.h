#pragma once

#include "convseq/kernels/matmul.h"

namespace convseq::kernels {

// a · bᵀ with at most 64 rows of a, as a step of decoding computes it: Epilogue::Plain (with or
// without c) and Epilogue::Relu.
bool has_few_rows_matmul(const Matmul& matmul);
void few_rows_matmul(const Matmul& matmul, Stream stream);

}  // namespace convseq::kernels
