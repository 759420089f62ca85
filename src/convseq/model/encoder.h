#pragma once

#include <vector>

#include "convseq/model/stack.h"

namespace convseq {

// X_A = X + mixer(X); if configured, X_A += attention(X_A); X_B = X_A + FFN(X_A). Each residual
// connection has the model's norm style.
class EncoderBlock : public torch::nn::Module {
 public:
  EncoderBlock(const ModelConfig& config, int64_t layer);
  torch::Tensor forward(torch::Tensor x, const nn::MixerContext& context);
  void initialise(torch::Generator& random);

 private:
  nn::Residual residual_;
  std::shared_ptr<nn::Mixer> mixer_;
  std::shared_ptr<nn::Norm> mixer_norm_;
  std::shared_ptr<nn::SelfAttention> attention_;  // only in encoder_attention_layers
  std::shared_ptr<nn::Norm> attention_norm_;
  std::shared_ptr<nn::FeedForward> ffn_;
  std::shared_ptr<nn::Norm> ffn_norm_;
};

class Encoder : public Stack {
 public:
  explicit Encoder(const ModelConfig& config);
  torch::Tensor forward(const torch::Tensor& embedded, const nn::Lengths& lengths);  // [B,S,d]
  void initialise(torch::Generator& random);

 private:
  std::vector<std::shared_ptr<EncoderBlock>> blocks_;
};

}  // namespace convseq
