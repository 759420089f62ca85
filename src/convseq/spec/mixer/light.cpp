#include "convseq/spec/mixer/conv.h"
#include "convseq/spec/mixer/descriptions.h"

namespace convseq::mixers {
namespace {

void check_config(const ConfigCheck& check) {
  check_shared_kernels(check);
  check_kernels(check);
}

MixerLayer describe_layer(const ModelConfig& config, Side side, int64_t layer) {
  return conv_layer(config, side, layer,
                    {.projected = glu_channels(config), .tap_rows = config.conv_heads});
}

}  // namespace

constexpr MixerDescription kLight{.check = check_config, .layer = describe_layer};
constexpr MixerDescription kDilated = kLight;  // its taps stand `dilations` apart

}  // namespace convseq::mixers
