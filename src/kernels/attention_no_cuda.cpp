#include "base/error.h"
#include "kernels/attention.h"

namespace convseq::kernels {
namespace {

[[noreturn]] void refuse() {
  fail("attention: this build has no CUDA kernels; build where nvcc is");
}

}  // namespace

void attention_forward_cuda(const AttentionShape&, const AttentionForward&, Stream) { refuse(); }

void attention_backward_cuda(const AttentionShape&, const AttentionBackward&, Stream) { refuse(); }

}  // namespace convseq::kernels
