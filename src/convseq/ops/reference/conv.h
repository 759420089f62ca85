#pragma once

#include "convseq/ops/conv.h"

// The convolutions in plain libtorch, differentiable any number of times; bf16 in and out with fp32
// inside, float64 throughout.
//
// Layouts: x [B,T,C]; static taps [H,k], taps that differ by position [B,T,H,k], both shared by the
// C/H channels of contiguous groups. H = C is the depthwise convolution.
namespace convseq::ops::reference {

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths);

// [B,T,2C] -> [B,T,C]: the first half times the sigmoid of the second, zero where padded.
torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths);

// y[b,i,c] = sum_j taps[c / (C/H), j] * x[b, i - left + j * dilation, c], x zero where padded.
torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry);
torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry);

// The same with the taps of each output's own position: logits [B,T,H,k].
torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& options, const ConvGeometry& geometry);

// n more positions of a causal convolution: x [B,n,C], logits [B,n,H,k].
torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring);
torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& options, const ConvGeometry& geometry,
                                ConvRing& ring);

// Softmax over the taps (the last dimension), in fp32 or float64 whatever the input.
torch::Tensor tap_softmax(const torch::Tensor& logits);

// The taps that such logits stand for: softmax, then dropout, each where asked for.
torch::Tensor dynamic_taps(const torch::Tensor& logits, const DynamicTapOptions& options);

}  // namespace convseq::ops::reference
