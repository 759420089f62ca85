#include "convseq/runtime/weights/model_tensors.h"

#include <fmt/format.h>

#include "convseq/spec/mixer_description.h"

namespace convseq {
namespace {

class ShapeList {
 public:
  explicit ShapeList(const ModelConfig& config) : config_(config) {}

  void add_stack(Side side) {
    const std::string stack = side == Side::Encoder ? "encoder." : "decoder.";
    if (config_.positions == Positions::Learned) {
      shapes[stack + "positions.weight"] = {config_.max_positions, config_.d_model};
    }
    if (config_.positions == Positions::Relative && config_.has_self_attention(side)) {
      shapes[stack + "relative_bias.weight"] = {config_.relative_buckets, config_.heads};
    }
    add_norm(stack + "norm");
    for (int64_t layer = 0; layer < config_.layers(side); ++layer) {
      add_block(side, layer, fmt::format("{}blocks.{}.", stack, layer));
    }
  }

  TensorShapes shapes;

 private:
  void add_block(Side side, int64_t layer, const std::string& block) {
    add_mixer(block + "mixer", mixer_layer(config_, side, layer));
    if (side == Side::Encoder && config_.has_encoder_attention(layer)) {
      add_mixer(block + "attention", added_attention(config_));
    }
    // Encoder-decoder attention has the parameters of self-attention.
    if (side == Side::Decoder) add_mixer(block + "cross", added_attention(config_));
    const int64_t d = config_.d_model, inner = config_.d_ff;
    shapes[block + "ffn.up.weight"] = {inner, d};
    if (config_.ffn == FeedForwardKind::GatedGelu) shapes[block + "ffn.gate.weight"] = {inner, d};
    shapes[block + "ffn.down.weight"] = {d, inner};
    add_norm(block + "ffn_norm");
  }

  void add_mixer(const std::string& name, const MixerLayer& mixer) {
    for (const MixerMatmul& each : mixer.matmuls) {
      shapes[name + "." + each.name + ".weight"] = {each.out, each.in};
    }
    for (const MixerParameter& each : mixer.other_parameters) {
      shapes[name + "." + each.name] = each.shape;
    }
    add_norm(name + "_norm");
  }

  void add_norm(const std::string& name) {
    shapes[name + ".weight"] = {config_.d_model};
    if (config_.norm == NormStyle::BranchLayerNorm) shapes[name + ".bias"] = {config_.d_model};
  }

  const ModelConfig& config_;
};

}  // namespace

TensorShapes model_tensors(const ModelConfig& config) {
  ShapeList list(config);
  const int64_t d = config.d_model;
  list.shapes["embedding.weight"] = {config.vocab_size, d};
  list.add_stack(Side::Encoder);
  list.add_stack(Side::Decoder);
  if (!config.tie_embeddings) list.shapes["output.weight"] = {config.vocab_size, d};
  if (config.classes > 0) {
    list.shapes["classifier.weight"] = {config.classes, d};
    list.shapes["classifier.bias"] = {config.classes};
  }
  return std::move(list.shapes);
}

}  // namespace convseq
