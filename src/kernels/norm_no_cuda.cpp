#include "kernels/no_cuda.h"
#include "kernels/norm.h"

namespace convseq::kernels {

void norm_forward_cuda(const NormShape&, const NormForward&, Stream) { refuse("norm"); }

void norm_backward_cuda(const NormShape&, const NormBackward&, Stream) { refuse("norm"); }

size_t norm_backward_workspace_cuda(const NormShape&) { refuse("norm"); }

}  // namespace convseq::kernels
