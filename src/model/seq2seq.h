#pragma once

#include "convseq/model/decoder.h"
#include "convseq/model/encoder.h"
#include "convseq/nn/classifier.h"

namespace convseq {

// The whole model: one embedding for source, target and (tied) softmax; an encoder; a decoder.
class Seq2Seq : public torch::nn::Module {
 public:
  // Parameters hold nothing yet: initialise() draws them, a checkpoint loads them.
  explicit Seq2Seq(const ModelConfig& config);
  void initialise(torch::Generator& random);
  void initialise(uint64_t seed);

  torch::Tensor encode(const torch::Tensor& source,
                       const nn::Lengths& lengths);  // [B,S] -> [B,S,d]
  torch::Tensor decode(const torch::Tensor& target, const torch::Tensor& encoded,
                       const nn::Lengths& source_lengths);   // [B,T] -> [B,T,d]
  torch::Tensor logits(const torch::Tensor& decoded) const;  // [B,T,d] -> [B,T,V]

  // logits = output_scale · decoded · output_matrixᵀ [V,d], for a loss that never holds them whole.
  const torch::Tensor& output_matrix() const;
  double output_scale() const;

  // Teacher forcing: logits [B,T,V] of what follows each decoder input.
  torch::Tensor forward(const torch::Tensor& source, const nn::Lengths& source_lengths,
                        const torch::Tensor& target);

  // The linear head on the mean of the real encoder outputs, [B,S,d] -> [B,classes].
  torch::Tensor classify(const torch::Tensor& encoded, const nn::Lengths& lengths) const;

  // Incremental decoding: n tokens at a time, [B,n] -> logits [B,n,V].
  DecodeState start(const torch::Tensor& encoded, const nn::Lengths& source_lengths) const;
  torch::Tensor step(const torch::Tensor& tokens, DecodeState& state);
  // The same before the softmax's matrix, [B,n,d]: for those who need logits of few positions.
  torch::Tensor decode(const torch::Tensor& tokens, DecodeState& state);

  void recompute_blocks(bool on);

  // From here on the encoder and the embedding neither learn nor drop out.
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

// The parameters of such a model, on the meta device: their names and shapes, without memory.
std::vector<std::pair<std::string, torch::Tensor>> parameter_shapes(const ModelConfig& config);
int64_t parameter_count(const ModelConfig& config);

// What the decoder is given where `targets` are wanted: the start token, then all but the last.
torch::Tensor decoder_inputs(const ModelConfig& config, const torch::Tensor& targets);  // [B,T]

}  // namespace convseq
