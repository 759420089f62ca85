#include "convseq/spec/mixer/conv.h"
#include "convseq/spec/mixer/descriptions.h"

namespace convseq::mixers {
namespace {

void check_config(const ConfigCheck& check) {
  check_kernels(check);
  if (check.config().glu) {
    check.refuse("glu", "is true, but mixer gated has gates of its own; allowed: false");
  }
  if (check.config().tap_softmax) {
    check.refuse("tap_softmax", "is true, but mixer gated has raw taps; allowed: false");
  }
}

MixerLayer describe_layer(const ModelConfig& config, Side side, int64_t layer) {
  const int64_t d = config.d_model;
  MixerLayer mixer = conv_layer(config, side, layer, {.projected = 3 * d, .tap_rows = d});
  mixer.kept_values += 2 * d;  // B ⊙ X', and the convolution's output before its gate
  return mixer;
}

}  // namespace

constexpr MixerDescription kGated{.check = check_config, .layer = describe_layer};

}  // namespace convseq::mixers
