#include "convseq/spec/parameter_list.h"

#include <fmt/ranges.h>

#include <functional>
#include <numeric>
#include <set>

#include "convseq/spec/mixer_description.h"

namespace convseq {
namespace {

class ParameterList {
 public:
  explicit ParameterList(const ModelConfig& config) : config_(config), d_(config.d_model) {}

  std::vector<ParameterShape> all() {
    add("embedding.weight", {config_.vocab_size, d_});
    add_stack(Side::Encoder);
    add_stack(Side::Decoder);
    if (!config_.tie_embeddings) add("output.weight", {config_.vocab_size, d_});
    if (config_.classes > 0) {
      add("classifier.weight", {config_.classes, d_});
      add("classifier.bias", {config_.classes});
    }
    return std::move(list_);
  }

 private:
  void add(std::string name, std::vector<int64_t> shape) {
    list_.push_back({std::move(name), std::move(shape)});
  }

  void add_norm(const std::string& name) {
    add(name + ".weight", {d_});
    if (config_.norm == NormStyle::BranchLayerNorm) add(name + ".bias", {d_});
  }

  void add_stack(Side side) {
    const std::string stack = side == Side::Encoder ? "encoder." : "decoder.";
    if (config_.positions == Positions::Learned) {
      add(stack + "positions.weight", {config_.max_positions, d_});
    }
    if (config_.positions == Positions::Relative && config_.has_self_attention(side)) {
      add(stack + "relative_bias.weight", {config_.relative_buckets, config_.heads});
    }
    add_norm(stack + "norm");
    for (int64_t layer = 0; layer < config_.layers(side); ++layer) {
      add_block(fmt::format("{}blocks.{}.", stack, layer), side, layer);
    }
  }

  void add_block(const std::string& block, Side side, int64_t layer) {
    add_mixer(block + "mixer", mixer_layer(config_, side, layer));
    if (side == Side::Encoder && config_.has_encoder_attention(layer)) {
      add_mixer(block + "attention", added_attention(config_));
    }
    if (side == Side::Decoder) add_mixer(block + "cross", added_attention(config_));
    add(block + "ffn.up.weight", {config_.d_ff, d_});
    if (config_.ffn == FeedForwardKind::GatedGelu)
      add(block + "ffn.gate.weight", {config_.d_ff, d_});
    add(block + "ffn.down.weight", {d_, config_.d_ff});
    add_norm(block + "ffn_norm");
  }

  void add_mixer(const std::string& name, const MixerLayer& mixer) {
    for (const auto& each : mixer.other_parameters) add(name + "." + each.name, each.shape);
    for (const auto& each : mixer.matmuls) {
      add(name + "." + each.name + ".weight", {each.out, each.in});
    }
    add_norm(name + "_norm");
  }

  const ModelConfig& config_;
  int64_t d_;
  std::vector<ParameterShape> list_;
};

bool is_floating_point(TensorType type) {
  switch (type) {
    case TensorType::F8E5M2:
    case TensorType::F8E4M3:
    case TensorType::F16:
    case TensorType::BF16:
    case TensorType::F32:
    case TensorType::F64:
      return true;
    default:
      return false;
  }
}

}  // namespace

int64_t ParameterShape::count() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::vector<ParameterShape> list_parameters(const ModelConfig& config) {
  return ParameterList(config).all();
}

std::string scale_name(const std::string& name) { return name + ".scale"; }

void check_weights(const ModelConfig& config, const SafetensorsFile& file,
                   const std::string& origin) {
  std::set<std::string> known;
  for (const ParameterShape& parameter : list_parameters(config)) {
    const auto found = file.tensors().find(parameter.name);
    require(found != file.tensors().end(), "{}: tensor {} is missing", origin, parameter.name);
    require(found->second.shape == parameter.shape,
            "{}: tensor {} has shape [{}]; the config wants [{}]", origin, parameter.name,
            fmt::join(found->second.shape, ", "), fmt::join(parameter.shape, ", "));
    const TensorType type = found->second.type;
    require(is_floating_point(type) || type == TensorType::I8,
            "{}: tensor {} holds no floating-point numbers (type {})", origin, parameter.name,
            name_of(type));
    known.insert(parameter.name);
    if (type == TensorType::I8) known.insert(scale_name(parameter.name));
  }
  for (const auto& [name, tensor] : file.tensors()) {
    require(known.contains(name), "{}: tensor {} is not part of the model", origin, name);
  }
}

}  // namespace convseq
