#include "convseq/kernels/embedding.h"

#include "convseq/kernels/no_cuda/refuse.h"

namespace convseq::kernels {

void embedding_backward_cuda(const EmbeddingShape&, const EmbeddingBackward&, Stream) {
  refuse("embedding");
}

size_t embedding_backward_workspace_cuda(const EmbeddingShape&) { refuse("embedding"); }

}  // namespace convseq::kernels
