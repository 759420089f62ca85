#pragma once

#include "convseq/model/decoder.h"
#include "convseq/model/encoder.h"
#include "convseq/nn/classifier.h"

namespace convseq {

// The whole model: one embedding for source, target and (tied) softmax; an encoder; a decoder.
class Seq2Seq : public torch::nn::Module {
 public:
  // The parameters have no values yet: initialise() draws them, or a checkpoint is loaded.
  explicit Seq2Seq(const ModelConfig& config);
  void initialise(torch::Generator& random);
  void initialise(uint64_t seed);

  torch::Tensor encode(const torch::Tensor& source,
                       const nn::Lengths& lengths);  // [B,S] -> [B,S,d]
  torch::Tensor decode(const torch::Tensor& target, const torch::Tensor& encoded,
                       const nn::Lengths& source_lengths);   // [B,T] -> [B,T,d]
  torch::Tensor logits(const torch::Tensor& decoded) const;  // [B,T,d] -> [B,T,V]

  // logits = output_scale · decoded · output_matrixᵀ [V,d], for a loss that never holds all logits.
  const torch::Tensor& output_matrix() const;
  double output_scale() const;

  // Teacher forcing: the logits [B,T,V] of the token after each decoder input.
  torch::Tensor forward(const torch::Tensor& source, const nn::Lengths& source_lengths,
                        const torch::Tensor& target);

  // The linear head on the mean of the real encoder outputs, [B,S,d] -> [B,classes].
  torch::Tensor classify(const torch::Tensor& encoded, const nn::Lengths& lengths) const;

  // Incremental decoding: n tokens at a time, [B,n] -> logits [B,n,V].
  // With a capacity, the state has room for that many tokens per row and takes one per step; its
  // steps can be captured as a CUDA graph.
  DecodeState start(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
                    int64_t capacity = 0) const;
  // Begins anew with other sources of the same shape in the memory of a state of fixed capacity,
  // for which a captured step stays valid.
  void restart(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
               DecodeState& state) const;
  torch::Tensor step(const torch::Tensor& tokens, DecodeState& state);
  // The same before the output matrix, [B,n,d], where logits of only some positions are needed.
  torch::Tensor decode(const torch::Tensor& tokens, DecodeState& state);

  void recompute_blocks(bool on);

  // From now on the encoder and the embedding have neither gradients nor dropout.
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

// The names and shapes of a model's parameters, on the meta device: without memory.
std::vector<std::pair<std::string, torch::Tensor>> parameter_shapes(const ModelConfig& config);
int64_t parameter_count(const ModelConfig& config);

// The decoder's inputs for `targets`: the start token, then all targets but the last.
torch::Tensor decoder_inputs(const ModelConfig& config, const torch::Tensor& targets);  // [B,T]

}  // namespace convseq
