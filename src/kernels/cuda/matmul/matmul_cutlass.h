#pragma once

#include "convseq/kernels/matmul.h"

namespace convseq::kernels {

// Products by CUTLASS: plain ones with something to add, and gated ones; neither factor transposed.
bool cutlass_takes(const Product& product);
void cutlass_product(const Product& product, Stream stream);

}  // namespace convseq::kernels
