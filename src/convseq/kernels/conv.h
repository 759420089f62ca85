#pragma once

#include <cstddef>
#include <cstdint>

#include "convseq/kernels/cpu_run.h"
#include "convseq/kernels/types.h"

// The kernels of convolutions: raw pointers to contiguous arrays, sizes, a stream. The formulas
// are in ops/reference/conv.h; dispatch and autograd in ops/conv.h. Sums are fp32 and have a
// fixed order, so that the same inputs give the same bits. Unsupported arguments are refused with
// an Error, and all CUDA kernels throw in a build without nvcc.
namespace convseq::kernels {

struct ConvShape {
  Type type = Type::Fp32;  // of activations and their gradients
  int64_t batch = 0;
  int64_t time = 0;
  int64_t channels = 0;  // C
  int64_t heads = 0;     // H: contiguous groups of C/H channels share their taps; H = C: depthwise
  int64_t kernel = 1;    // k
  int64_t dilation = 1;
  int64_t left = 0;  // tap j of output i reads i − left + j · dilation
  bool glu = false;  // the input is [B,T,2C]: the first half times the sigmoid of the second
};

// Inputs at or beyond a row's length count as zero, whatever they hold. Outputs are written
// completely.
struct ConvForward {
  const void* x = nullptr;           // [B,T,C], or [B,T,2C] with glu
  const float* taps = nullptr;       // [H,k]
  const int64_t* lengths = nullptr;  // [B]; null: every row is full
  void* y = nullptr;                 // [B,T,C]
};

struct ConvBackward {
  const void* x = nullptr;
  const float* taps = nullptr;
  const int64_t* lengths = nullptr;
  const void* dy = nullptr;   // [B,T,C]
  void* dx = nullptr;         // as x; zero where padded. On a CPU null where not needed
  float* dtaps = nullptr;     // [H,k]; on a CPU null where not needed
  void* workspace = nullptr;  // conv_backward_workspace_cuda() bytes; not used on a CPU
};

void conv_forward_cpu(const ConvShape& shape, const ConvForward& arrays, const CpuRun& run = {});
void conv_forward_cuda(const ConvShape& shape, const ConvForward& arrays, Stream stream);
void conv_backward_cpu(const ConvShape& shape, const ConvBackward& arrays, const CpuRun& run = {});
void conv_backward_cuda(const ConvShape& shape, const ConvBackward& arrays, Stream stream);
size_t conv_backward_workspace_cuda(const ConvShape& shape);

// The softmax over k of static taps [H,k], from the activations' type to fp32, and its gradient.
// Only type, heads and kernel of the shape are used.
void tap_softmax_forward_cuda(const ConvShape& shape, const void* logits, float* taps,
                              Stream stream);
void tap_softmax_backward_cuda(const ConvShape& shape, const float* taps, const float* dtaps,
                               void* dlogits, Stream stream);

// The gated linear unit alone: [B,T,2C] -> [B,T,C], zero where padded. Only type, batch, time and
// channels of the shape are used, and x, lengths, y or dy, dx of the arrays.
void glu_forward_cpu(const ConvShape& shape, const ConvForward& arrays, const CpuRun& run = {});
void glu_forward_cuda(const ConvShape& shape, const ConvForward& arrays, Stream stream);
void glu_backward_cpu(const ConvShape& shape, const ConvBackward& arrays, const CpuRun& run = {});
void glu_backward_cuda(const ConvShape& shape, const ConvBackward& arrays, Stream stream);

// Taps that differ by position, [B,T,H,k]: given as they are, or as logits whose softmax over k the
// kernel computes in fp32. x is already masked; `glu` and lengths are not used.
struct DynamicTaps {
  const void* values = nullptr;
  Type type = Type::Fp32;
  bool softmax = true;
  int64_t stride = 0;  // values from one position to the next, also in the gradient; 0: H·k
};

inline int64_t stride_of(const ConvShape& shape, const DynamicTaps& taps) {
  return taps.stride == 0 ? shape.heads * shape.kernel : taps.stride;
}

struct DynamicConvForward {
  const void* x = nullptr;
  DynamicTaps taps;
  void* y = nullptr;
};

struct DynamicConvBackward {
  const void* x = nullptr;
  DynamicTaps taps;
  const void* dy = nullptr;
  void* dx = nullptr;
  // The gradient of the given values, in their type and with their stride; padding between
  // positions is not written. dtaps or dx may be null as above.
  void* dtaps = nullptr;
};

void dynamic_conv_forward_cpu(const ConvShape& shape, const DynamicConvForward& arrays,
                              const CpuRun& run = {});
void dynamic_conv_forward_cuda(const ConvShape& shape, const DynamicConvForward& arrays,
                               Stream stream);
void dynamic_conv_backward_cpu(const ConvShape& shape, const DynamicConvBackward& arrays,
                               const CpuRun& run = {});
void dynamic_conv_backward_cuda(const ConvShape& shape, const DynamicConvBackward& arrays,
                                Stream stream);

// One more position of a causal convolution (time is 1): reads the last (k−1)·dilation inputs from
// a ring buffer, slot = position mod (k−1)·dilation, and stores x in it. On a GPU `glu` applies to
// x, and each row may have its own position, which the kernel reads from memory.
struct ConvStep {
  const void* x = nullptr;             // [B,C], or [B,2C] with glu
  const float* static_taps = nullptr;  // [H,k], or null where `dynamic_taps` are given
  DynamicTaps dynamic_taps;            // [B,H,k]
  int64_t position = 0;                // of x: the number of positions before it
  const int64_t* positions = nullptr;  // [B]; replaces `position` where not null; on a GPU
  void* ring = nullptr;                // [B,(k−1)·dilation,C]; null where that is empty
  void* y = nullptr;                   // [B,C]
};

void conv_step_cpu(const ConvShape& shape, const ConvStep& arrays, const CpuRun& run = {});
void conv_step_cuda(const ConvShape& shape, const ConvStep& arrays, Stream stream);

}  // namespace convseq::kernels
