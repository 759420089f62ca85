#pragma once

#include "convseq/ops/conv.h"

namespace convseq::ops {

// fp32 and bf16 on a CPU or a GPU.
bool has_conv_kernel(const torch::Tensor& x);

// One position of such inputs, without gradients: x [B,1,C], taps [H,k] or [B,1,H,k].
bool has_conv_step_kernel(const torch::Tensor& x, const torch::Tensor& taps, const ConvRing& ring);

// The same after a gated linear unit, on a GPU.
bool has_glu_conv_step_kernel(const torch::Tensor& projected, const torch::Tensor& taps,
                              const ConvRing& ring);

// Static taps [H,k], fp32 or bf16 on a GPU.
bool has_tap_softmax_kernel(const torch::Tensor& logits);

// The ops of ops/reference/conv.h by kernels/conv.h, with their gradients. The arguments were
// checked.
namespace kernel {

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths);
torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry);
torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry);
torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry);
torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring);
torch::Tensor glu_conv_step(const torch::Tensor& projected, const torch::Tensor& taps,
                            const ConvGeometry& geometry, ConvRing& ring);
torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring);
torch::Tensor tap_softmax(const torch::Tensor& logits);

}  // namespace kernel
}  // namespace convseq::ops
