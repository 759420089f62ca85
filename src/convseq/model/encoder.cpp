#include "convseq/model/encoder.h"

namespace convseq {

EncoderBlock::EncoderBlock(const ModelConfig& config, int64_t layer)
    : residual_(residual_options(config)) {
  const auto norm = [&] { return std::make_shared<nn::Norm>(norm_options(config)); };
  mixer_ = register_module("mixer", nn::make_mixer(mixer_options(config, Side::Encoder, layer)));
  mixer_norm_ = register_module("mixer_norm", norm());
  if (config.has_encoder_attention(layer)) {
    attention_ = register_module("attention", std::make_shared<nn::SelfAttention>(
                                                  mixer_options(config, Side::Encoder, layer)));
    attention_norm_ = register_module("attention_norm", norm());
  }
  ffn_ = register_module("ffn", std::make_shared<nn::FeedForward>(feed_forward_options(config)));
  ffn_norm_ = register_module("ffn_norm", norm());
}

torch::Tensor EncoderBlock::forward(torch::Tensor x, const nn::MixerContext& context) {
  x = residual_(x, *mixer_norm_, [&](const auto& y) { return mixer_->forward(y, context); });
  if (attention_) {
    x = residual_(x, *attention_norm_,
                  [&](const auto& y) { return attention_->forward(y, context); });
  }
  return residual_(x, *ffn_norm_, [&](const auto& y) { return ffn_->forward(y); });
}

void EncoderBlock::initialise(torch::Generator& random) {
  mixer_->initialise(random);
  mixer_norm_->initialise();
  if (attention_) {
    attention_->initialise(random);
    attention_norm_->initialise();
  }
  ffn_->initialise(random);
  ffn_norm_->initialise();
}

Encoder::Encoder(const ModelConfig& config) : Stack(config, Side::Encoder) {
  const auto list = register_module("blocks", std::make_shared<torch::nn::Module>());
  for (int64_t layer = 0; layer < config.encoder_layers; ++layer) {
    blocks_.push_back(list->register_module(std::to_string(layer),
                                            std::make_shared<EncoderBlock>(config, layer)));
  }
}

torch::Tensor Encoder::forward(const torch::Tensor& embedded, const nn::Lengths& lengths) {
  const int64_t time = embedded.size(1);
  const auto bias = position_bias(time, time);
  nn::Inputs inputs = {enter(embedded, 0), bias};
  for (const auto& block : blocks_) {
    inputs[0] = run(
        [=](const nn::Inputs& in) {
          return block->forward(in[0], {.lengths = lengths, .position_bias = in[1]});
        },
        inputs);
  }
  return leave(inputs[0]);
}

void Encoder::initialise(torch::Generator& random) {
  initialise_stack(random);
  for (const auto& block : blocks_) block->initialise(random);
}

}  // namespace convseq
