#include "convseq/kernels/embedding.h"

#include "convseq/kernels/checks.h"

namespace convseq::kernels {

void embedding_backward_cuda(const EmbeddingShape&, const EmbeddingBackward&, Stream) {
  fail_no_cuda("embedding");
}

size_t embedding_backward_workspace_cuda(const EmbeddingShape&) { fail_no_cuda("embedding"); }

}  // namespace convseq::kernels
