#include "convseq/nn/mixer/gated_conv.h"

namespace convseq::nn {
namespace {

struct Gates {
  torch::Tensor input;   // B ⊙ X', [B,T,d]
  torch::Tensor output;  // C, [B,T,d]
};

Gates split(const torch::Tensor& projected) {  // [B,T,3d]
  const auto parts = projected.chunk(3, -1);
  return {.input = parts[0] * parts[2], .output = parts[1]};
}

}  // namespace

GatedConv::GatedConv(const MixerOptions& options)
    : StaticConv(options, /*tap_heads=*/options.channels,
                 /*projected_channels=*/3 * options.channels) {}

torch::Tensor GatedConv::forward(const Stream& x, const MixerContext& context) {
  const Gates gates = split(input_->forward(x));
  return output_->forward(gates.output *
                          ops::conv(gates.input, taps(), context.lengths, geometry_));
}

torch::Tensor GatedConv::step(const torch::Tensor& x, const MixerContext& context,
                              MixerState& state) {
  const Gates gates = split(input_->forward(x));
  const auto x1 = ops::mask_padding(gates.input, context.lengths);
  return output_->forward(
      gates.output * ops::conv_step(x1, taps_for(state), geometry_, ring_of(state, context)),
      context.sum);
}

}  // namespace convseq::nn
