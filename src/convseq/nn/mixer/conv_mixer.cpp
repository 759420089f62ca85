#include "convseq/nn/mixer/conv_mixer.h"

#include <cmath>

namespace convseq::nn {
namespace {

struct ConvState : MixerState {
  ops::ConvRing ring;
  torch::Tensor taps;

  void reorder(const torch::Tensor& rows) override { reorder_in_place(ring.rows, rows); }
  int64_t bytes() const override { return static_cast<int64_t>(ring.rows.nbytes()); }
};

}  // namespace

ConvMixer::ConvMixer(const MixerOptions& options, int64_t projected_channels)
    : options_(options),
      geometry_{.kernel = options.kernel,
                .dilation = options.dilation,
                .alignment = options.causal ? ops::Alignment::Causal : ops::Alignment::Centred} {
  const int64_t d = options.channels;
  input_ = register_module("input", std::make_shared<Linear>(d, projected_channels));
  output_ = register_module("output", std::make_shared<Linear>(d, d));
}

int64_t ConvMixer::glu_channels(const MixerOptions& options) {
  return options.glu ? 2 * options.channels : options.channels;
}

torch::Tensor ConvMixer::gated(const Stream& x, const Lengths& lengths) const {
  const auto projected = input_->forward(x);
  return options_.glu ? ops::glu(projected, lengths) : ops::mask_padding(projected, lengths);
}

std::unique_ptr<MixerState> ConvMixer::start(int64_t batch, int64_t capacity,
                                             KvCacheType /*cache*/) const {
  auto state = std::make_unique<ConvState>();
  // Inputs before the first token are zero, as in the parallel pass.
  state->ring.rows =
      torch::zeros({batch, geometry_.reach(), options_.channels}, output_->weight.options());
  if (capacity > 0) {
    const torch::NoGradGuard no_grad;
    const auto shared = taps();
    const bool is_narrow = shared.defined() && at::isReducedFloatingType(shared.scalar_type());
    state->taps = is_narrow ? shared.to(torch::kFloat32) : shared;
  }
  return state;
}

ops::ConvRing& ConvMixer::ring_of(MixerState& state, const MixerContext& context) {
  auto& ring = static_cast<ConvState&>(state).ring;
  ring.positions = context.positions;
  return ring;
}

const torch::Tensor& ConvMixer::taps_of(const MixerState& state) {
  return static_cast<const ConvState&>(state).taps;
}

void ConvMixer::initialise(torch::Generator& random) {
  const double deviation = 1 / std::sqrt(static_cast<double>(options_.channels));
  draw_normal(input_->weight, deviation, random);
  draw_normal(output_->weight, deviation, random);
}

}  // namespace convseq::nn
