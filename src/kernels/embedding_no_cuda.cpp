#include "base/error.h"
#include "kernels/embedding.h"

namespace convseq::kernels {
namespace {

[[noreturn]] void refuse() {
  fail("embedding: this build has no CUDA kernels; build where nvcc is");
}

}  // namespace

void embedding_backward_cuda(const EmbeddingShape&, const EmbeddingBackward&, Stream) { refuse(); }

size_t embedding_backward_workspace_cuda(const EmbeddingShape&) { refuse(); }

}  // namespace convseq::kernels
