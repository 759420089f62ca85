#pragma once

#include "convseq/model/decoder.h"
#include "convseq/model/encoder.h"
#include "convseq/nn/classifier.h"

namespace convseq {

// The whole model: one embedding for source, target and, if tied, the output matrix; an encoder; a
// decoder.
class Seq2Seq : public torch::nn::Module {
 public:
  // Leaves the parameters uninitialised: call initialise() or load a checkpoint.
  explicit Seq2Seq(const ModelConfig& config);
  void initialise(torch::Generator& random);
  void initialise(uint64_t seed);

  torch::Tensor encode(const torch::Tensor& source,
                       const nn::Lengths& lengths);  // [B,S] -> [B,S,d]
  torch::Tensor decode(const torch::Tensor& target, const torch::Tensor& encoded,
                       const nn::Lengths& source_lengths);   // [B,T] -> [B,T,d]
  torch::Tensor logits(const torch::Tensor& decoded) const;  // [B,T,d] -> [B,T,V]

  // logits = output_scale · decoded · output_matrixᵀ [V,d], for a loss that never stores all
  // logits.
  const torch::Tensor& output_matrix() const;
  double output_scale() const;

  // Teacher forcing: the logits [B,T,V] of the token that follows each decoder input.
  torch::Tensor forward(const torch::Tensor& source, const nn::Lengths& source_lengths,
                        const torch::Tensor& target);

  // The linear head on the mean of the real encoder outputs, [B,S,d] -> [B,classes].
  torch::Tensor classify(const torch::Tensor& encoded, const nn::Lengths& lengths) const;

  // Incremental decoding: n tokens at a time, [B,n] -> logits [B,n,V]. With a capacity, the state
  // has room for that many tokens per row and takes one token per step, and a step can be captured
  // as a CUDA graph.
  DecodeState start(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
                    const DecodeStateOptions& options = {}) const;
  torch::Tensor step(const torch::Tensor& tokens, DecodeState& state);
  // The same before the output matrix, [B,n,d], for callers that need the logits of only some
  // positions.
  torch::Tensor decode(const torch::Tensor& tokens, DecodeState& state);

  void recompute_blocks(bool on);

  // From now on the encoder and the embedding (with a tied output matrix) are not trained, and the
  // encoder has no dropout.
  void freeze_encoder();
  void train(bool on = true) override;

  const ModelConfig& config() const { return config_; }
  int64_t parameter_count() const;

 private:
  ModelConfig config_;
  std::shared_ptr<nn::Embedding> embedding_;
  std::shared_ptr<Encoder> encoder_;
  std::shared_ptr<Decoder> decoder_;
  std::shared_ptr<nn::Linear> output_;          // only when not tied
  std::shared_ptr<nn::Classifier> classifier_;  // only with classes
  bool encoder_is_frozen_ = false;
};

// The names and shapes of a model's parameters, as tensors on the meta device.
std::vector<std::pair<std::string, torch::Tensor>> parameter_shapes(const ModelConfig& config);
int64_t parameter_count(const ModelConfig& config);

// The decoder inputs for `targets`: the start token, then all targets except the last.
torch::Tensor decoder_inputs(const ModelConfig& config, const torch::Tensor& targets);  // [B,T]

}  // namespace convseq
