#include "convseq/kernels/attention.h"

#include "convseq/kernels/checks.h"

namespace convseq::kernels {

void attention_forward_cuda(const AttentionShape&, const AttentionForward&, Stream) {
  fail_no_cuda("attention");
}

void attention_backward_cuda(const AttentionShape&, const AttentionBackward&, Stream) {
  fail_no_cuda("attention");
}

void attention_step_cuda(const AttentionStepShape&, const AttentionStep&, Stream) {
  fail_no_cuda("attention_step");
}

void quantize_rows_cuda(const QuantizeShape&, const QuantizeRows&, Stream) {
  fail_no_cuda("quantize_rows");
}

}  // namespace convseq::kernels
