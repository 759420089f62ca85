#pragma once

#include <vector>

#include "convseq/model/stack.h"

namespace convseq {

// The decode state: for each block, its mixer's state and the source's keys and values.
struct DecodeState {
  struct Block {
    std::unique_ptr<nn::MixerState> mixer;
    nn::CrossAttention::Memory source;
  };
  std::vector<Block> blocks;
  int64_t position = 0;  // tokens decoded so far; not counted in a state of fixed capacity

  // A state of fixed capacity keeps its position on the device, in each step advanced by one; it
  // has the same addresses in every step, so that a step can be captured and replayed.
  int64_t capacity = 0;         // tokens per row; 0: the state grows
  torch::Tensor positions;      // [B] int64: tokens decoded so far, by row
  torch::Tensor position_bias;  // of the self-attention, by distance

  // [B'] int64: row i continues the former row rows[i]. With a fixed capacity and B' = B the
  // addresses stay the same; with another B' a step must be captured again.
  void reorder(const torch::Tensor& rows);
  int64_t mixer_bytes() const;
  int64_t source_bytes() const;
};

// EncoderBlock made causal, with encoder-decoder attention between the mixer and the FFN in every
// model.
class DecoderBlock : public torch::nn::Module {
 public:
  DecoderBlock(const ModelConfig& config, int64_t layer);
  torch::Tensor forward(const torch::Tensor& x, const nn::CrossAttention::Memory& source,
                        const nn::MixerContext& context);
  torch::Tensor step(const torch::Tensor& x, DecodeState::Block& state,
                     const nn::MixerContext& context);
  nn::CrossAttention::Memory remember(const nn::Stream& encoded, const nn::Lengths& lengths) const;
  DecodeState::Block start(const torch::Tensor& encoded, const nn::Lengths& lengths,
                           int64_t capacity) const;
  void restart(const torch::Tensor& encoded, const nn::Lengths& lengths,
               DecodeState::Block& state) const;
  void initialise(torch::Generator& random);

 private:
  // `mix` is the mixer's parallel pass or its step; all else is the same.
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

  // The parallel pass, [B,T,d] -> [B,T,d]. Target padding needs no mask: it is in the future of
  // every real token.
  torch::Tensor forward(const torch::Tensor& embedded, const torch::Tensor& encoded,
                        const nn::Lengths& source_lengths);

  DecodeState start(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
                    int64_t capacity = 0) const;
  // Begins anew with other sources of the same shape, in the memory of a state of fixed capacity.
  void restart(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
               DecodeState& state) const;
  torch::Tensor step(const torch::Tensor& embedded, DecodeState& state);  // [B,n,d] -> [B,n,d]
  void initialise(torch::Generator& random);

 private:
  torch::Tensor fixed_step(const torch::Tensor& embedded, DecodeState& state);

  std::vector<std::shared_ptr<DecoderBlock>> blocks_;
};

}  // namespace convseq
