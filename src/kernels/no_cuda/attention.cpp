#include "convseq/kernels/attention.h"

#include "convseq/kernels/no_cuda/refuse.h"

namespace convseq::kernels {

void attention_forward_cuda(const AttentionShape&, const AttentionForward&, Stream) {
  refuse("attention");
}

void attention_backward_cuda(const AttentionShape&, const AttentionBackward&, Stream) {
  refuse("attention");
}

}  // namespace convseq::kernels
