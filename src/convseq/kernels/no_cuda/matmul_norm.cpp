#include "convseq/kernels/checks.h"
#include "convseq/kernels/matmul.h"

namespace convseq::kernels {

bool has_matmul_norm(const Matmul&) { return false; }

void matmul_norm_cuda(const MatmulNorm&, Stream) { fail_no_cuda("matmul_norm"); }

}  // namespace convseq::kernels
