#include "convseq/kernels/conv.h"

#include "convseq/kernels/checks.h"

namespace convseq::kernels {

void conv_forward_cuda(const ConvShape&, const ConvForward&, Stream) {
  fail_no_cuda("conv_forward");
}

void conv_backward_cuda(const ConvShape&, const ConvBackward&, Stream) {
  fail_no_cuda("conv_backward");
}

size_t conv_backward_workspace_cuda(const ConvShape&) { fail_no_cuda("conv_backward"); }

void tap_softmax_forward_cuda(const ConvShape&, const void*, float*, Stream) {
  fail_no_cuda("tap_softmax_forward");
}

void tap_softmax_backward_cuda(const ConvShape&, const float*, const float*, void*, Stream) {
  fail_no_cuda("tap_softmax_backward");
}

void glu_forward_cuda(const ConvShape&, const ConvForward&, Stream) { fail_no_cuda("glu_forward"); }

void glu_backward_cuda(const ConvShape&, const ConvBackward&, Stream) {
  fail_no_cuda("glu_backward");
}

void dynamic_conv_forward_cuda(const ConvShape&, const DynamicConvForward&, Stream) {
  fail_no_cuda("dynamic_conv_forward");
}

void dynamic_conv_backward_cuda(const ConvShape&, const DynamicConvBackward&, Stream) {
  fail_no_cuda("dynamic_conv_backward");
}

void conv_step_cuda(const ConvShape&, const ConvStep&, Stream) { fail_no_cuda("conv_step"); }

}  // namespace convseq::kernels
