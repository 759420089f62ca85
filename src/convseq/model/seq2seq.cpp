#include "convseq/model/seq2seq.h"

#include <torch/nn/module.h>
#include <torch/types.h>

#include <cmath>

#include "convseq/ops/conv.h"
#include "convseq/ops/kernel/vector_math.h"

namespace convseq {

Seq2Seq::Seq2Seq(const ModelConfig& config) : config_(config) {
  ops::settle_vector_math();
  embedding_ = register_module("embedding",
                               std::make_shared<nn::Embedding>(config.vocab_size, config.d_model));
  encoder_ = register_module("encoder", std::make_shared<Encoder>(config));
  decoder_ = register_module("decoder", std::make_shared<Decoder>(config));
  if (!config.tie_embeddings) {
    output_ =
        register_module("output", std::make_shared<nn::Linear>(config.d_model, config.vocab_size));
  }
  if (config.classes > 0) {
    classifier_ = register_module("classifier",
                                  std::make_shared<nn::Classifier>(config.d_model, config.classes));
  }
}

void Seq2Seq::initialise(torch::Generator& random) {
  const double unit = 1 / std::sqrt(static_cast<double>(config_.d_model));
  // T5 draws the embedding from N(0,1) and scales the tied output by 1/sqrt(d). With
  // branch_layer_norm the embedding itself has this scale.
  nn::draw_normal(embedding_->weight, config_.norm == NormStyle::PreRmsNorm ? 1.0 : unit, random);
  encoder_->initialise(random);
  decoder_->initialise(random);
  if (output_) nn::draw_normal(output_->weight, unit, random);
  if (classifier_) classifier_->initialise(unit, random);
}

void Seq2Seq::initialise(uint64_t seed) {
  auto random = at::make_generator<at::CPUGeneratorImpl>(seed);
  initialise(random);
}

torch::Tensor Seq2Seq::encode(const torch::Tensor& source, const nn::Lengths& lengths) {
  return encoder_->forward(embedding_->forward(source), lengths);
}

torch::Tensor Seq2Seq::decode(const torch::Tensor& target, const torch::Tensor& encoded,
                              const nn::Lengths& source_lengths) {
  return decoder_->forward(embedding_->forward(target), encoded, source_lengths);
}

torch::Tensor Seq2Seq::logits(const torch::Tensor& decoded) const {
  const double scale = output_scale();
  return ops::linear_and_input(scale == 1 ? decoded : decoded * scale, output_matrix()).output;
}

const torch::Tensor& Seq2Seq::output_matrix() const {
  return output_ ? output_->weight : embedding_->weight;
}

double Seq2Seq::output_scale() const {
  const bool scaled = !output_ && config_.scales_output();
  return scaled ? 1 / std::sqrt(static_cast<double>(config_.d_model)) : 1;
}

torch::Tensor Seq2Seq::forward(const torch::Tensor& source, const nn::Lengths& source_lengths,
                               const torch::Tensor& target) {
  return logits(decode(target, encode(source, source_lengths), source_lengths));
}

torch::Tensor Seq2Seq::classify(const torch::Tensor& encoded, const nn::Lengths& lengths) const {
  TORCH_CHECK(classifier_, "this model has no classification head (classes is 0)");
  const auto sum = ops::mask_padding(encoded, lengths).sum(1);
  const auto mean = lengths.all_full()
                        ? sum / encoded.size(1)
                        : sum / lengths.values.clamp_min(1).unsqueeze(1).to(sum.scalar_type());
  return classifier_->forward(mean);
}

DecodeState Seq2Seq::start(const torch::Tensor& encoded, const nn::Lengths& source_lengths,
                           const DecodeStateOptions& options) const {
  return decoder_->start(encoded, source_lengths, options);
}

torch::Tensor Seq2Seq::step(const torch::Tensor& tokens, DecodeState& state) {
  return logits(decode(tokens, state));
}

torch::Tensor Seq2Seq::decode(const torch::Tensor& tokens, DecodeState& state) {
  return decoder_->step(embedding_->forward(tokens), state);
}

void Seq2Seq::recompute_blocks(bool on) {
  encoder_->recompute_blocks(on);
  decoder_->recompute_blocks(on);
}

void Seq2Seq::freeze_encoder() {
  encoder_is_frozen_ = true;
  embedding_->weight.set_requires_grad(false);
  for (auto& parameter : encoder_->parameters()) parameter.set_requires_grad(false);
  train(is_training());
}

void Seq2Seq::train(bool on) {
  Module::train(on);
  if (encoder_is_frozen_) encoder_->eval();
}

int64_t Seq2Seq::parameter_count() const {
  int64_t count = 0;
  for (const auto& parameter : parameters()) count += parameter.numel();
  return count;
}

std::vector<std::pair<std::string, torch::Tensor>> parameter_shapes(const ModelConfig& config) {
  const nn::ShapesOnly no_memory;
  return Seq2Seq(config).named_parameters().pairs();
}

int64_t parameter_count(const ModelConfig& config) {
  const nn::ShapesOnly no_memory;
  return Seq2Seq(config).parameter_count();
}

torch::Tensor decoder_inputs(const ModelConfig& config, const torch::Tensor& targets) {
  const auto start =
      torch::full({targets.size(0), 1}, config.decoder_start_token_id, targets.options());
  return torch::cat({start, targets.slice(1, 0, -1)}, 1);
}

}  // namespace convseq
