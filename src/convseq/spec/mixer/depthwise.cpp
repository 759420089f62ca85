#include "convseq/spec/mixer/conv.h"
#include "convseq/spec/mixer/descriptions.h"

namespace convseq::mixers {
namespace {

void check_config(const ConfigCheck& check) {
  check.within("conv_heads", check.config().conv_heads, {1, kLargestSize});
  check_kernels(check);
}

MixerLayer describe_layer(const ModelConfig& config, Side side, int64_t layer) {
  return conv_layer(config, side, layer,
                    {.projected = glu_channels(config), .tap_rows = config.d_model});
}

}  // namespace

constexpr MixerDescription kDepthwise{.check = check_config, .layer = describe_layer};

}  // namespace convseq::mixers
