#include "convseq/runtime/mixer/conv.h"

namespace convseq {
namespace {

kernels::ConvGate gate_of(const ModelConfig& config) {
  if (config.mixer == MixerKind::Gated) return kernels::ConvGate::Product;
  return config.glu ? kernels::ConvGate::Glu : kernels::ConvGate::None;
}

}  // namespace

CpuConv::CpuConv(const CpuMixerOptions& options, WeightPacker& packer)
    : level_(packer.options().level), gate_(gate_of(packer.config())) {
  const ModelConfig& config = packer.config();
  const int64_t kernel = config.kernels(options.side)[options.layer];
  const int64_t dilation = config.dilations_of(options.side)[options.layer];
  // Centred kernels of even size reach one position further to the left.
  const int64_t before = options.side == Side::Decoder ? kernel - 1 : kernel / 2;
  shape_ = {.batch = 1,
            .channels = config.d_model,
            .heads = config.d_model,
            .kernel = kernel,
            .dilation = dilation,
            .left = before * dilation};
  packer.matrix({options.name + ".input.weight"}, input);
  packer.matrix({options.name + ".output.weight"}, output);
}

}  // namespace convseq
