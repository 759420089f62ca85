#include "base/error.h"
#include "kernels/conv.h"

namespace convseq::kernels {
namespace {

[[noreturn]] void refuse() { fail("this build has no CUDA kernels; build where nvcc is"); }

}  // namespace

void conv_forward_cuda(const ConvShape&, const ConvForward&, Stream) { refuse(); }
void conv_backward_cuda(const ConvShape&, const ConvBackward&, Stream) { refuse(); }
size_t conv_backward_workspace_cuda(const ConvShape&) { refuse(); }
void glu_forward_cuda(const ConvShape&, const ConvForward&, Stream) { refuse(); }
void glu_backward_cuda(const ConvShape&, const ConvBackward&, Stream) { refuse(); }
void dynamic_conv_forward_cuda(const ConvShape&, const DynamicConvForward&, Stream) { refuse(); }
void dynamic_conv_backward_cuda(const ConvShape&, const DynamicConvBackward&, Stream) { refuse(); }
void conv_step_cuda(const ConvShape&, const ConvStep&, Stream) { refuse(); }

}  // namespace convseq::kernels
