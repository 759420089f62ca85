#pragma once

#include "convseq/nn/mixer/conv_mixer.h"

namespace convseq::nn {

// Dynamic convolution: the taps (or their logits) at position i are a linear function of the input
// X1_i at that position alone. Unlike attention, it does not compare positions.
class DynamicConv : public ConvMixer {
 public:
  explicit DynamicConv(const MixerOptions& options);

  torch::Tensor forward(const Stream& x, const MixerContext& context) override;
  torch::Tensor step(const torch::Tensor& x, const MixerContext& context,
                     MixerState& state) override;
  void initialise(torch::Generator& random) override;

 private:
  ops::DynamicTapOptions tap_options() const;

  std::shared_ptr<Linear> taps_;  // W^Q: R^d -> R^{H×k}
};

}  // namespace convseq::nn
