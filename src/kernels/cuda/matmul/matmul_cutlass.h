#pragma once

#include "convseq/kernels/matmul.h"

namespace convseq::kernels {

// Matmuls by CUTLASS: plain ones with something to add, and gated ones; neither factor transposed.
bool cutlass_takes(const Matmul& matmul);
void cutlass_matmul(const Matmul& matmul, Stream stream);

}  // namespace convseq::kernels
