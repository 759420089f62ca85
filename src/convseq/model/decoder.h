#pragma once

#include <vector>

#include "convseq/model/stack.h"

namespace convseq {

// The decode state: per block, the state of its mixer and the keys and values of the source.
struct DecodeState {
  struct Block {
    std::unique_ptr<nn::MixerState> mixer;
    nn::CrossAttention::Memory source;
  };
  std::vector<Block> blocks;
  int64_t position = 0;  // tokens decoded so far; not counted in a state of fixed capacity

  // A state of fixed capacity keeps its positions on the device, and each step advances them by
  // one. Its addresses are the same in every step, so that a step can be captured and replayed.
  int64_t capacity = 0;         // tokens per row; 0: the state grows
  torch::Tensor positions;      // [B] int64: tokens decoded so far per row
  torch::Tensor position_bias;  // of the self-attention, by distance

  // rows [B'] int64: row i continues the former row rows[i]. With a fixed capacity and B' = B the
  // addresses are unchanged; otherwise a step must be captured again.
  void reorder(const torch::Tensor& rows);
  int64_t mixer_bytes() const;
  int64_t source_bytes() const;
};

struct DecodeStateOptions {
  int64_t capacity = 0;                   // tokens per row; 0: the state grows
  KvCacheType cache = KvCacheType::Auto;  // with a capacity
};

// A causal EncoderBlock with encoder-decoder attention between the mixer and the FFN.
class DecoderBlock : public torch::nn::Module {
 public:
  DecoderBlock(const ModelConfig& config, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const nn::CrossAttention::Memory& source,
                        const nn::MixerContext& context);
  torch::Tensor step(const torch::Tensor& x, DecodeState::Block& state,
                     const nn::MixerContext& context);
  nn::CrossAttention::Memory remember(const nn::Stream& encoded, const nn::Lengths& lengths) const;
  DecodeState::Block start(const torch::Tensor& encoded, const nn::Lengths& lengths,
                           const DecodeStateOptions& options) const;
  void initialise(torch::Generator& random);

 private:
  // `mix` is the mixer's parallel pass or its step; everything else is the same.
  template <class Mix>
  torch::Tensor apply(torch::Tensor x, const nn::CrossAttention::Memory& source, Mix mix) const;

  nn::Residual residual_;
  std::shared_ptr<nn::Mixer> mixer_;
  std::shared_ptr<nn::Norm> mixer_norm_;
  std::shared_ptr<nn::CrossAttention> cross_;
  std::shared_ptr<nn::Norm> cross_norm_;
  std::shared_ptr<nn::FeedForward> ffn_;
  std::shared_ptr<nn::Norm> ffn_norm_;
};

class Decoder : public Stack {
 public:
  explicit Decoder(const ModelConfig& config);

  // The parallel pass, [B,T,d] -> [B,T,d]. Target padding needs no mask, because it follows all
  // real tokens.
  torch::Tensor forward(const torch::Tensor& embedded, const torch::Tensor& encoded,
                        const nn::Lengths& source_lengths);

  DecodeState start(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
                    const DecodeStateOptions& options = {}) const;
  torch::Tensor step(const torch::Tensor& embedded, DecodeState& state);  // [B,n,d] -> [B,n,d]
  void initialise(torch::Generator& random);

 private:
  torch::Tensor fixed_step(const torch::Tensor& embedded, DecodeState& state);

  std::vector<std::shared_ptr<DecoderBlock>> blocks_;
};

}  // namespace convseq
