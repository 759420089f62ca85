#pragma once

#include <torch/types.h>

#include "convseq/ops/conv.h"

// The ops of ops/conv.h by the kernels, CPU or CUDA, with their gradients. The arguments were
// checked.
namespace convseq::ops::fast {

// fp32 and bf16 have kernels; for anything else there is the reference.
bool has_kernel(const torch::Tensor& x);

torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths);
torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry);
torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry);

// taps [B,T,H,k], or logits whose softmax they are.
torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& taps, bool softmax,
                           const ConvGeometry& geometry);

// One position, without gradients: x [B,1,C], taps [H,k] or [B,1,H,k].
bool can_step(const torch::Tensor& x, const torch::Tensor& taps, const ConvRing& ring);
torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring);
torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& taps, bool softmax,
                                const ConvGeometry& geometry, ConvRing& ring);

}  // namespace convseq::ops::fast
