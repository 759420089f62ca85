#include "convseq/nn/mixer/dynamic_conv.h"

#include <cmath>

namespace convseq::nn {

DynamicConv::DynamicConv(const MixerOptions& options) : ConvMixer(options, glu_channels(options)) {
  taps_ = register_module(
      "taps", std::make_shared<Linear>(options.channels, options.conv_heads * options.kernel));
}

ops::DynamicTapOptions DynamicConv::tap_options() const {
  return {.softmax = options_.tap_softmax, .dropout = is_training() ? options_.tap_dropout : 0};
}

torch::Tensor DynamicConv::forward(const Stream& x, const MixerContext& context) {
  const Stream x1 = gated(x, context.lengths);
  const auto logits = taps_->forward(x1);
  return output_->forward(ops::dynamic_conv(x1, logits, tap_options(), geometry_));
}

torch::Tensor DynamicConv::step(const torch::Tensor& x, const MixerContext& context,
                                MixerState& state) {
  const auto x1 = gated(x, context.lengths);
  return output_->forward(ops::dynamic_conv_step(x1, taps_->forward(x1), tap_options(), geometry_,
                                                 ring_of(state, context)),
                          context.sum);
}

void DynamicConv::initialise(torch::Generator& random) {
  ConvMixer::initialise(random);
  draw_normal(taps_->weight, 1 / std::sqrt(static_cast<double>(options_.channels)), random);
}

}  // namespace convseq::nn
