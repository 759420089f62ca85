#include "convseq/spec/mixer/conv.h"
#include "convseq/spec/mixer/descriptions.h"

namespace convseq::mixers {
namespace {

void check_config(const ConfigCheck& check) {
  check_shared_kernels(check);
  check_kernels(check);
  const ModelConfig& config = check.config();
  for (const Side side : {Side::Encoder, Side::Decoder}) {
    for (const int64_t kernel : config.kernels(side).values) {
      check.product_within_largest("conv_heads", config.conv_heads, "kernel size", kernel);
    }
  }
}

MixerLayer describe_layer(const ModelConfig& config, Side side, int64_t layer) {
  const int64_t d = config.d_model, logits = config.conv_heads * config.kernels(side)[layer];
  MixerLayer mixer = conv_layer(config, side, layer, {.projected = glu_channels(config)});
  mixer.matmuls.push_back({.name = "taps", .in = d, .out = logits});
  // The gated x is written for the matmul that makes the taps, and its gradient read back.
  mixer.moved_values += 3 * logits + 2 * d;
  mixer.kept_values += d + logits;
  return mixer;
}

}  // namespace

constexpr MixerDescription kDynamic{.check = check_config, .layer = describe_layer};

}  // namespace convseq::mixers
