#include "convseq/kernels/matmul.h"

#include "convseq/base/error.h"

namespace convseq::kernels {

void product_cuda(const Product&, Stream) {
  fail("product: this build has no cuBLASLt; build where it and libtorch's CUDA libraries are");
}

void tune_products(bool) {}

bool can_gate(const Product&) { return false; }

bool built_with_products() { return false; }
size_t product_workspace_bytes() { return 0; }

}  // namespace convseq::kernels
