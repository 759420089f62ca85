#include "convseq/spec/mixer/descriptions.h"

#include "convseq/base/error.h"

namespace convseq {

const MixerDescription& description_of(MixerKind kind) {
  switch (kind) {
    case MixerKind::Attention:
      return mixers::kAttention;
    case MixerKind::Depthwise:
      return mixers::kDepthwise;
    case MixerKind::Light:
      return mixers::kLight;
    case MixerKind::Dynamic:
      return mixers::kDynamic;
    case MixerKind::Dilated:
      return mixers::kDilated;
    case MixerKind::Gated:
      return mixers::kGated;
  }
  fail("mixer {} has no description", static_cast<int>(kind));
}

MixerLayer mixer_layer(const ModelConfig& config, Side side, int64_t layer) {
  return description_of(config.mixer).layer(config, side, layer);
}

MixerLayer added_attention(const ModelConfig& config) {
  return mixers::kAttention.layer(config, Side::Encoder, /*layer=*/0);
}

}  // namespace convseq
