#pragma once

#include "convseq/kernels/matmul.h"

namespace convseq::kernels {

// Matmuls by CUTLASS: Epilogue::Plain with a c, and Epilogue::ReluBackward; no operand transposed.
bool has_cutlass_matmul(const Matmul& matmul);
void cutlass_matmul(const Matmul& matmul, Stream stream);

}  // namespace convseq::kernels
