#include "convseq/kernels/select_token.h"

#include "convseq/kernels/checks.h"

namespace convseq::kernels {

void select_token_cuda(const SelectTokenShape&, const SelectTokenArrays&, Stream) {
  fail_no_cuda("select_token");
}

}  // namespace convseq::kernels
