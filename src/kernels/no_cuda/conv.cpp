#include "convseq/kernels/conv.h"

#include "convseq/base/error.h"

namespace convseq::kernels {
namespace {

[[noreturn]] void refuse(const char* what) {
  fail("{}: this build has no CUDA kernels; build where nvcc is, or use the CPU", what);
}

}  // namespace

void conv_forward_cuda(const ConvShape&, const ConvForward&, Stream) { refuse("conv_forward"); }

void conv_backward_cuda(const ConvShape&, const ConvBackward&, Stream) { refuse("conv_backward"); }

size_t conv_backward_workspace_cuda(const ConvShape&) { refuse("conv_backward"); }

void tap_softmax_forward_cuda(const ConvShape&, const void*, float*, Stream) {
  refuse("tap_softmax_forward");
}

void tap_softmax_backward_cuda(const ConvShape&, const float*, const float*, void*, Stream) {
  refuse("tap_softmax_backward");
}

void glu_forward_cuda(const ConvShape&, const ConvForward&, Stream) { refuse("glu_forward"); }

void glu_backward_cuda(const ConvShape&, const ConvBackward&, Stream) { refuse("glu_backward"); }

void dynamic_conv_forward_cuda(const ConvShape&, const DynamicConvForward&, Stream) {
  refuse("dynamic_conv_forward");
}

void dynamic_conv_backward_cuda(const ConvShape&, const DynamicConvBackward&, Stream) {
  refuse("dynamic_conv_backward");
}

void conv_step_cuda(const ConvShape&, const ConvStep&, Stream) { refuse("conv_step"); }

}  // namespace convseq::kernels
