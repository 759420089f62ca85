#include "convseq/kernels/matmul.h"

#include "convseq/base/error.h"

namespace convseq::kernels {

void matmul_cuda(const Matmul&, Stream) {
  fail("matmul: this build has no cuBLASLt; build where it and libtorch's CUDA libraries are");
}

void tune_matmuls(bool) {}

bool can_gate(const Matmul&) { return false; }

bool built_with_matmuls() { return false; }
size_t matmul_workspace_bytes() { return 0; }

}  // namespace convseq::kernels
