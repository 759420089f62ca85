#include "kernels/attention.h"
#include "kernels/no_cuda.h"

namespace convseq::kernels {

void attention_forward_cuda(const AttentionShape&, const AttentionForward&, Stream) {
  refuse("attention");
}

void attention_backward_cuda(const AttentionShape&, const AttentionBackward&, Stream) {
  refuse("attention");
}

}  // namespace convseq::kernels
