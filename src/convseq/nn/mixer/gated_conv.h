#pragma once

#include "convseq/nn/mixer/static_conv.h"

namespace convseq::nn {

// LFM2's double-gated short convolution: (B, C, X') = X W_in, X3 = (C ⊙ Conv(B ⊙ X')) W_O, with raw
// taps and one kernel per channel. The decode state holds past rows of B ⊙ X'.
class GatedConv : public StaticConv {
 public:
  explicit GatedConv(const MixerOptions& options);

  torch::Tensor forward(const Stream& x, const MixerContext& context) override;
  torch::Tensor step(const torch::Tensor& x, const MixerContext& context,
                     MixerState& state) override;
};

}  // namespace convseq::nn
