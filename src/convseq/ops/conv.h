#pragma once

#include <torch/types.h>

#include "convseq/ops/geometry.h"
#include "convseq/ops/lengths.h"

// The convolutions that the layers call. Shapes and meaning as in ops/reference/conv.h; arguments
// that do not fit are refused with an Error that names them.
namespace convseq::ops {

torch::Tensor mask_padding(const torch::Tensor& x, const Lengths& lengths);
torch::Tensor tap_softmax(const torch::Tensor& logits);

// [B,T,2C] -> [B,T,C]
torch::Tensor glu(const torch::Tensor& projected, const Lengths& lengths);

// Padding set to zero, then the convolution: [B,T,C], taps [H,k] -> [B,T,C].
torch::Tensor conv(const torch::Tensor& x, const torch::Tensor& taps, const Lengths& lengths,
                   const ConvGeometry& geometry);

// conv(glu(projected)) as one op: [B,T,2C], taps [H,k] -> [B,T,C].
torch::Tensor glu_conv(const torch::Tensor& projected, const torch::Tensor& taps,
                       const Lengths& lengths, const ConvGeometry& geometry);

struct DynamicTapOptions {
  bool softmax = true;
  double dropout = 0;  // DropConnect: after the softmax, not renormalised
};

// Every position has its own taps, given as logits [B,T,H*k]; x is already masked.
torch::Tensor dynamic_conv(const torch::Tensor& x, const torch::Tensor& tap_logits,
                           const DynamicTapOptions& taps, const ConvGeometry& geometry);

// The last `reach` inputs of a causal convolution in a ring buffer, slot = position mod reach: all
// that decoding needs, whatever the length so far.
struct ConvRing {
  torch::Tensor rows;  // [B, reach, C]
  int64_t position = 0;
  // [B] int64, on the rows' device: the position of each row, advanced by the caller. Where
  // defined it replaces `position`, so that every step has the same arguments. In a captured graph
  // the kernel launched just before a step writes neither these nor the rows.
  torch::Tensor positions = {};
};

// The outputs of n more positions x [B,n,C], given the inputs in the ring; x is appended to it.
torch::Tensor conv_step(const torch::Tensor& x, const torch::Tensor& taps,
                        const ConvGeometry& geometry, ConvRing& ring);
// conv_step(glu(projected)) as one op: [B,n,2C] -> [B,n,C].
torch::Tensor glu_conv_step(const torch::Tensor& projected, const torch::Tensor& taps,
                            const Lengths& lengths, const ConvGeometry& geometry, ConvRing& ring);
torch::Tensor dynamic_conv_step(const torch::Tensor& x, const torch::Tensor& tap_logits,
                                const DynamicTapOptions& taps, const ConvGeometry& geometry,
                                ConvRing& ring);

}  // namespace convseq::ops
