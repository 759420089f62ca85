#pragma once

#include "convseq/nn/mixer/conv_mixer.h"

namespace convseq::nn {

// Depthwise, light and dilated convolutions: the same taps at every position, raw or normalised by
// a softmax. Each group of channels / tap_heads channels shares one kernel.
class StaticConv : public ConvMixer {
 public:
  StaticConv(const MixerOptions& options, int64_t tap_heads)
      : StaticConv(options, tap_heads, glu_channels(options)) {}

  torch::Tensor forward(const Stream& x, const MixerContext& context) override;
  torch::Tensor step(const torch::Tensor& x, const MixerContext& context,
                     MixerState& state) override;
  void initialise(torch::Generator& random) override;

 protected:
  StaticConv(const MixerOptions& options, int64_t tap_heads, int64_t projected_channels);
  torch::Tensor taps() const override;  // [H,k], after softmax and dropout
  torch::Tensor taps_for(const MixerState& state) const;

 private:
  torch::Tensor taps_;
};

}  // namespace convseq::nn
