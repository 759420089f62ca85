#pragma once

#include "convseq/nn/linear.h"
#include "convseq/nn/mixer/mixer.h"
#include "convseq/ops/conv.h"

namespace convseq::nn {

// Base class of the convolutions: X1 = (X W_I) ⊙ sigmoid(X W_S), X2 = Conv(X1), X3 = X2 W_O. The
// decode state is a ring buffer of past rows of X1. W_I and W_S are the halves of one matrix.
// Without `glu`, X1 = X W_I. A mixer with other gates passes the width of its own input projection.
class ConvMixer : public Mixer {
 public:
  std::unique_ptr<MixerState> start(int64_t batch, int64_t capacity,
                                    KvCacheType cache) const override;

 protected:
  ConvMixer(const MixerOptions& options, int64_t projected_channels);

  torch::Tensor gated(const Stream& x, const Lengths& lengths) const;  // X -> X1, masked
  static int64_t glu_channels(const MixerOptions& options);  // width of the input projection
  // The ring buffer of past inputs, at the positions of the context.
  static ops::ConvRing& ring_of(MixerState& state, const MixerContext& context);
  // Taps that are the same in every step. A state of fixed capacity computes them once.
  virtual torch::Tensor taps() const { return {}; }
  static const torch::Tensor& taps_of(const MixerState& state);  // undefined: not computed
  void initialise(torch::Generator& random) override;

  MixerOptions options_;
  ops::ConvGeometry geometry_;
  std::shared_ptr<Linear> input_;
  std::shared_ptr<Linear> output_;
};

}  // namespace convseq::nn
