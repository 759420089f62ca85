#include "convseq/nn/mixer/mixer.h"

#include <torch/types.h>

#include "convseq/nn/mixer/attention.h"
#include "convseq/nn/mixer/dynamic_conv.h"
#include "convseq/nn/mixer/gated_conv.h"
#include "convseq/nn/mixer/static_conv.h"

namespace convseq::nn {

void reorder_in_place(torch::Tensor& x, const torch::Tensor& rows) {
  const auto reordered = x.index_select(0, rows);
  if (reordered.size(0) == x.size(0)) {
    x.copy_(reordered);
  } else {
    x = reordered;
  }
}

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
