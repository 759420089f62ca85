#include "convseq/nn/mixer/mixer.h"

#include "convseq/nn/mixer/attention.h"
#include "convseq/nn/mixer/dynamic_conv.h"
#include "convseq/nn/mixer/gated_conv.h"
#include "convseq/nn/mixer/static_conv.h"

namespace convseq::nn {

std::shared_ptr<Mixer> make_mixer(const MixerOptions& options) {
  switch (options.kind) {
    case MixerKind::Attention:
      return std::make_shared<SelfAttention>(options);
    case MixerKind::Depthwise:
      return std::make_shared<StaticConv>(options, /*tap_heads=*/options.channels);
    case MixerKind::Light:
    case MixerKind::Dilated:  // a light convolution with dilated taps
      return std::make_shared<StaticConv>(options, /*tap_heads=*/options.conv_heads);
    case MixerKind::Dynamic:
      return std::make_shared<DynamicConv>(options);
    case MixerKind::Gated:
      return std::make_shared<GatedConv>(options);
  }
  return nullptr;
}

}  // namespace convseq::nn
