#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "convseq/spec/model_config.h"

namespace convseq {

class ConfigCheck;

// y = x Wᵀ for every token, with the parameter W [out, in] called "name.weight".
struct MixerMatmul {
  std::string name;
  int64_t in = 0;
  int64_t out = 0;
};

// A parameter that belongs to no matmul.
struct MixerParameter {
  std::string name;
  std::vector<int64_t> shape;
};

// softmax(Q Kᵀ) V, in `heads` heads of `channels` channels each.
struct AttentionHeads {
  int64_t heads = 0;
  int64_t channels = 0;

  int64_t inner() const { return heads * channels; }
};

// What the mixer of one layer is, in numbers: parameters, FLOPs, memory traffic, memory, decode
// state and receptive field are counted from these. Everything is linear in the number of tokens,
// except for what `attention` adds.
struct MixerLayer {
  std::vector<MixerMatmul> matmuls = {};
  std::vector<MixerParameter> other_parameters = {};
  int64_t multiply_adds = 0;                     // per token, outside matmuls and attention
  std::optional<AttentionHeads> attention = {};  // over all tokens of the layer's own sequence
  std::optional<int64_t> reach = {};  // other inputs that an output depends on; none: all

  // Values per token that the passes between matmuls read and write, forward and backward, where
  // each is fused within itself. Attention's passes are not in it.
  int64_t moved_values = 0;
  // Values per token that training keeps for the backward pass, and temporary ones; both beside
  // attention's.
  int64_t kept_values = 0;
  int64_t temporary_values = 0;
  // Values of the decode state of one sequence: these, and these for every token so far.
  int64_t state_values = 0;
  int64_t state_values_per_token = 0;
};

// A kind of mixer: what it needs of a configuration, and what it is in each layer of a model.
struct MixerDescription {
  bool attends = false;                     // its layers have `attention`
  void (*check)(const ConfigCheck& check);  // refuses what it cannot be built from
  MixerLayer (*layer)(const ModelConfig& config, Side side, int64_t layer);
};

const MixerDescription& description_of(MixerKind kind);

// The mixer of a layer, and the self-attention that encoder_attention_layers adds to one.
MixerLayer mixer_layer(const ModelConfig& config, Side side, int64_t layer);
MixerLayer added_attention(const ModelConfig& config);

}  // namespace convseq
