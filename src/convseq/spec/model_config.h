#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/data/task/label_kind.h"
#include "convseq/spec/layer_kinds.h"
#include "convseq/spec/mixer_kind.h"

namespace convseq {

enum class Side { Encoder, Decoder };

// One value for every layer, or one value per layer.
struct PerLayer {
  std::vector<int64_t> values;

  int64_t operator[](int64_t layer) const {
    return values.size() == 1 ? values[0] : values.at(static_cast<size_t>(layer));
  }
  bool operator==(const PerLayer&) const = default;
};

// The file of a model folder that holds its configuration.
inline constexpr const char* kConfigFile = "config.json";

// All that decides a model's shape: `config.json` of a model folder. Checked when it is read; what
// is built from it trusts it.
struct ModelConfig {
  MixerKind mixer = kDefaultMixer;
  int64_t vocab_size = 32128;
  int64_t d_model = 768;
  int64_t d_ff = 3072;
  int64_t encoder_layers = 12;
  int64_t decoder_layers = 12;
  int64_t heads = 12;  // of attention: the mixer's, the decoder's, the encoder's added layers'
  int64_t d_kv = 64;

  PerLayer kernel_sizes{{7}};
  PerLayer dilations{{1}};
  PerLayer decoder_kernel_sizes;  // empty: as the encoder's
  PerLayer decoder_dilations;
  int64_t conv_heads = 12;  // H: kernels shared by d_model / H channels each
  bool glu = true;
  bool tap_softmax = true;

  NormStyle norm = NormStyle::BranchLayerNorm;
  double norm_eps = 1e-6;
  FeedForwardKind ffn = FeedForwardKind::Relu;
  Positions positions = Positions::None;
  int64_t max_positions = 512;  // of learned positions
  int64_t relative_buckets = 32;
  int64_t relative_max_distance = 128;
  std::vector<int64_t> encoder_attention_layers;  // blocks that get self-attention after the mixer

  bool tie_embeddings = true;
  int64_t classes = 0;              // > 0: a linear head on the mean of the encoder's output
  std::vector<std::string> labels;  // the names of the classes, one per class; may be empty
  LabelKind label_kind = LabelKind::Single;  // of the head: a softmax, or a sigmoid per class
  double dropout = 0;
  double tap_dropout = 0;

  int64_t pad_token_id = 0;
  int64_t eos_token_id = 1;
  int64_t decoder_start_token_id = 0;

  // Each refuses by origin, key, value and what is allowed.
  static ModelConfig load(const std::filesystem::path& path);
  static ModelConfig from_json(const JsonObject& json);
  Json to_json() const;
  static std::vector<std::string> keys();  // of config.json, beside model_type

  int64_t layers(Side side) const {
    return side == Side::Encoder ? encoder_layers : decoder_layers;
  }
  const PerLayer& kernels(Side side) const;
  const PerLayer& dilations_of(Side side) const;
  bool has_self_attention(Side side) const;  // somewhere in that stack
  bool has_encoder_attention(int64_t layer) const;
  bool scales_output() const { return tie_embeddings && norm == NormStyle::PreRmsNorm; }

  bool operator==(const ModelConfig&) const = default;
};

}  // namespace convseq
