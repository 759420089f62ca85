#include "convseq/nn/mixer/static_conv.h"

#include <cmath>

namespace convseq::nn {

StaticConv::StaticConv(const MixerOptions& options, int64_t tap_heads, int64_t projected_channels)
    : ConvMixer(options, projected_channels) {
  taps_ = register_parameter("taps", empty_parameter({tap_heads, options.kernel}));
}

torch::Tensor StaticConv::taps() const {
  const auto taps = options_.tap_softmax ? ops::tap_softmax(taps_) : taps_;
  return at::dropout(taps, options_.tap_dropout, is_training());
}

torch::Tensor StaticConv::taps_for(const MixerState& state) const {
  const auto& kept = taps_of(state);
  return kept.defined() ? kept : taps();
}

torch::Tensor StaticConv::forward(const Stream& x, const MixerContext& context) {
  const auto projected = input_->forward(x);
  return output_->forward(options_.glu
                              ? ops::glu_conv(projected, taps(), context.lengths, geometry_)
                              : ops::conv(projected, taps(), context.lengths, geometry_));
}

torch::Tensor StaticConv::step(const torch::Tensor& x, const MixerContext& context,
                               MixerState& state) {
  const auto projected = input_->forward(x);
  const auto taps = taps_for(state);
  auto& ring = ring_of(state, context);
  return output_->forward(
      options_.glu
          ? ops::glu_conv_step(projected, taps, context.lengths, geometry_, ring)
          : ops::conv_step(ops::mask_padding(projected, context.lengths), taps, geometry_, ring),
      context.sum);
}

void StaticConv::initialise(torch::Generator& random) {
  ConvMixer::initialise(random);
  // Raw taps with variance 1/k keep the variance of the input. Logits with variance 1 give kernels
  // that differ from one another.
  const double kernel = static_cast<double>(options_.kernel);
  draw_normal(taps_, options_.tap_softmax ? 1.0 : 1 / std::sqrt(kernel), random);
}

}  // namespace convseq::nn
