#include "convseq/kernels/cuda/matmul/matmul_few_rows.h"

#include "convseq/kernels/checks.h"

namespace convseq::kernels {

bool has_few_rows_matmul(const Matmul&) { return false; }

void few_rows_matmul(const Matmul&, Stream) { fail_no_cuda("matmul"); }

}  // namespace convseq::kernels
