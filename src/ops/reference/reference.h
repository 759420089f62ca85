#pragma once

#include <torch/types.h>

#include "convseq/ops/geometry.h"
#include "convseq/ops/lengths.h"

// Every op in plain ATen: the specification, the fallback and the oracle of the tests.
// Differentiable; bf16 in and out with fp32 inside, float64 throughout.
//
// Layouts: x [B,T,C]; static taps [H,k] and taps that differ by position [B,T,H,k], shared by the
// C/H channels of contiguous groups. H = C is the depthwise convolution.
namespace convseq::ops::reference {

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths);

// [B,T,2C] -> [B,T,C]: the first half times the sigmoid of the second, zero where padded.
torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths);

// O[b,i,c] = sum_j taps[c / (C/H), j] * x[b, i - left + j * dilation, c]
torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const ConvGeometry& geometry);

// The same with the taps [B,T,H,k] of each output's own position.
torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& taps,
                           const ConvGeometry& geometry);

// Convolutions without padding: `window` [B, reach + T, C] holds all that T outputs read.
torch::Tensor window_conv(const torch::Tensor& window, const torch::Tensor& taps,
                          const ConvGeometry& geometry);
torch::Tensor window_dynamic_conv(const torch::Tensor& window, const torch::Tensor& taps,
                                  const ConvGeometry& geometry);

// Softmax over the taps (the last dimension), in fp32 or float64 whatever the input.
torch::Tensor tap_softmax(const torch::Tensor& logits);

torch::Tensor layer_norm(const torch::Tensor& x, const torch::Tensor& weight,
                         const torch::Tensor& bias, double eps);
torch::Tensor rms_norm(const torch::Tensor& x, const torch::Tensor& weight, double eps);

}  // namespace convseq::ops::reference
