#include "convseq/runtime/mixer/cpu_mixer.h"

#include "convseq/runtime/mixer/conv.h"

namespace convseq {

std::unique_ptr<CpuMixer> make_cpu_mixer(const CpuMixerOptions& options, WeightPacker& packer) {
  const ModelConfig& config = packer.config();
  switch (config.mixer) {
    case MixerKind::Attention:
      return make_cpu_attention(options, packer);
    case MixerKind::Depthwise:
    case MixerKind::Gated:
      return make_cpu_static_conv(options, /*tap_heads=*/config.d_model, packer);
    case MixerKind::Light:
    case MixerKind::Dilated:
      return make_cpu_static_conv(options, /*tap_heads=*/config.conv_heads, packer);
    case MixerKind::Dynamic:
      return make_cpu_dynamic_conv(options, packer);
  }
  return nullptr;
}

}  // namespace convseq
