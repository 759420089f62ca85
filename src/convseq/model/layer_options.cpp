#include "convseq/model/layer_options.h"

namespace convseq {

nn::MixerOptions mixer_options(const ModelConfig& config, Side side, int64_t layer) {
  return {.kind = config.mixer,
          .channels = config.d_model,
          .causal = side == Side::Decoder,
          .dropout = config.dropout,
          .heads = config.heads,
          .head_channels = config.d_kv,
          .kernel = config.kernels(side)[layer],
          .dilation = config.dilations_of(side)[layer],
          .conv_heads = config.conv_heads,
          .glu = config.glu,
          .tap_softmax = config.tap_softmax,
          .tap_dropout = config.tap_dropout};
}

nn::AttentionOptions attention_options(const ModelConfig& config) {
  return {.channels = config.d_model,
          .heads = config.heads,
          .head_channels = config.d_kv,
          .dropout = config.dropout};
}

nn::FeedForwardOptions feed_forward_options(const ModelConfig& config) {
  return {.kind = config.ffn,
          .channels = config.d_model,
          .inner = config.d_ff,
          .dropout = config.dropout};
}

nn::NormOptions norm_options(const ModelConfig& config) {
  return {.style = config.norm, .channels = config.d_model, .eps = config.norm_eps};
}

nn::ResidualOptions residual_options(const ModelConfig& config) {
  return {.style = config.norm, .dropout = config.dropout};
}

}  // namespace convseq
