#include "convseq/runtime/cpu_model.h"

#include <algorithm>
#include <cmath>

#include "convseq/base/machine.h"

namespace convseq {
namespace fs = std::filesystem;

template <>
inline constexpr auto kEnumNames<kernels::WeightType> =
    std::to_array<EnumName<kernels::WeightType>>({{kernels::WeightType::Fp32, "fp32"},
                                                  {kernels::WeightType::Bf16, "bf16"},
                                                  {kernels::WeightType::Int8, "int8"}});

namespace {

kernels::WeightType stored_type(const StoredTensor& matrix) {
  if (matrix.is_int8()) return kernels::WeightType::Int8;
  return matrix.view.type == TensorType::BF16 ? kernels::WeightType::Bf16
                                              : kernels::WeightType::Fp32;
}

// T5's bucket of a distance key − query: half of the buckets hold one distance each, the other half
// grow logarithmically up to the maximum distance.
int64_t distance_bucket(const ModelConfig& config, Side side, int64_t distance) {
  int64_t buckets = config.relative_buckets, first = 0;
  if (side == Side::Encoder) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<int64_t>(-distance, 0);
  }
  const int64_t exact = buckets / 2;
  if (distance < exact) return first + distance;
  const double range =
      std::log(static_cast<double>(config.relative_max_distance) / static_cast<double>(exact));
  // In fp32, as T5 computes it: at some distances the rounding decides.
  const float ratio = static_cast<float>(distance) / static_cast<float>(exact);
  const float steps =
      std::log(ratio) / static_cast<float>(range) * static_cast<float>(buckets - exact);
  return first + std::min(exact + static_cast<int64_t>(steps), buckets - 1);
}

// [buckets, heads] -> [heads, 2 max_distance + 1]
std::vector<float> bias_by_distance(const ModelConfig& config, Side side,
                                    const std::vector<float>& table) {
  const int64_t most = config.relative_max_distance;
  std::vector<float> bias;
  for (int64_t head = 0; head < config.heads; ++head) {
    for (int64_t distance = -most; distance <= most; ++distance) {
      const int64_t bucket = distance_bucket(config, side, distance);
      bias.push_back(table[static_cast<size_t>(bucket * config.heads + head)]);
    }
  }
  return bias;
}

// Lists the weights of a model in the order in which they are read.
class ModelBuilder {
 public:
  ModelBuilder(CpuModel& model, WeightPacker& packer)
      : model_(model), packer_(packer), config_(model.config) {}

  void add_all() {
    add_stack(Side::Encoder, model_.encoder);
    add_stack(Side::Decoder, model_.decoder);
    packer_.matrix({config_.tie_embeddings ? "embedding.weight" : "output.weight"}, model_.output);
    if (!config_.tie_embeddings) packer_.check("embedding.weight");  // it is read as it is stored
    if (config_.classes > 0) {
      packer_.tensor("classifier.weight", model_.classifier_weight);
      packer_.tensor("classifier.bias", model_.classifier_bias);
    }
  }

 private:
  void add_stack(Side side, CpuStack& stack) {
    const std::string name = side == Side::Encoder ? "encoder." : "decoder.";
    if (config_.positions == Positions::Learned) {
      packer_.tensor(name + "positions.weight", stack.positions);
    }
    if (config_.positions == Positions::Relative && config_.has_self_attention(side)) {
      stack.bias.max_distance = config_.relative_max_distance;
      packer_.computed(
          config_.heads * (2 * config_.relative_max_distance + 1),
          [=, this] {
            return bias_by_distance(config_, side, packer_.values(name + "relative_bias.weight"));
          },
          stack.bias.data);
    }
    // The layers must not move once the packer knows them.
    int64_t layers = config_.layers(side);
    for (int64_t i = 0; i < config_.layers(side); ++i) layers += adds_attention(side, i) ? 1 : 0;
    stack.layers.resize(static_cast<size_t>(layers));
    auto layer = stack.layers.begin();
    for (int64_t i = 0; i < config_.layers(side); ++i) {
      const std::string block = fmt::format("{}blocks.{}.", name, i);
      CpuMixerOptions options{
          .side = side, .layer = i, .name = block + "mixer", .bias = &stack.bias};
      add_norm(options.name + "_norm", layer->norm);
      layer->mixer = make_cpu_mixer(options, packer_);
      if (adds_attention(side, i)) {
        ++layer;
        options.name = block + "attention";
        add_norm(options.name + "_norm", layer->norm);
        layer->mixer = make_cpu_attention(options, packer_);
      }
      if (side == Side::Decoder) add_cross(block + "cross", layer->cross.emplace());
      add_ffn(block + "ffn", layer->ffn.emplace());
      ++layer;
    }
    // logits = output_scale · decoded · W: the norm of the decoder scales them.
    const bool scales = side == Side::Decoder && config_.scales_output();
    add_norm(name + "norm", stack.norm,
             scales ? 1 / std::sqrt(static_cast<float>(config_.d_model)) : 1);
  }

  bool adds_attention(Side side, int64_t layer) const {
    return side == Side::Encoder && config_.has_encoder_attention(layer);
  }

  void add_cross(const std::string& name, CpuCrossAttention& cross) {
    add_norm(name + "_norm", cross.norm);
    packer_.matrix({name + ".query.weight"}, cross.query);
    packer_.matrix({name + ".key.weight", name + ".value.weight"}, cross.key_value);
    packer_.matrix({name + ".output.weight"}, cross.output);
  }

  void add_ffn(const std::string& name, CpuFeedForward& ffn) {
    add_norm(name + "_norm", ffn.norm);
    std::vector<std::string> up = {name + ".up.weight"};
    if (config_.ffn == FeedForwardKind::GatedGelu) up.insert(up.begin(), name + ".gate.weight");
    packer_.matrix(up, ffn.up);
    packer_.matrix({name + ".down.weight"}, ffn.down);
  }

  void add_norm(const std::string& name, kernels::NormParameters& norm, float scale = 1) {
    norm.eps = static_cast<float>(config_.norm_eps);
    packer_.computed(
        config_.d_model,
        [=, this] {
          auto weight = packer_.values(name + ".weight");
          for (float& each : weight) each *= scale;
          return weight;
        },
        norm.weight);
    if (config_.norm == NormStyle::BranchLayerNorm) packer_.tensor(name + ".bias", norm.bias);
  }

  CpuModel& model_;
  WeightPacker& packer_;
  const ModelConfig& config_;
};

}  // namespace

kernels::WeightType weight_type(CpuPrecision precision, kernels::WeightType stored) {
  switch (precision) {
    case CpuPrecision::Fp32:
      return kernels::WeightType::Fp32;
    case CpuPrecision::Bf16:
      return kernels::WeightType::Bf16;
    case CpuPrecision::Int8:
      return kernels::WeightType::Int8;
    case CpuPrecision::Stored:
      break;
  }
  return stored;
}

std::shared_ptr<const CpuModel> load_cpu_model(const fs::path& folder,
                                               const CpuEngineOptions& options) {
  auto model = std::make_shared<CpuModel>();
  model->stored = std::make_unique<const StoredWeights>(folder);
  model->config = model->stored->config();
  model->embedding = model->stored->tensor("embedding.weight");
  model->level = options.level.value_or(kernels::default_cpu_level());
  model->type = weight_type(options.precision, stored_type(model->embedding));

  WeightPacker packer(*model->stored, {.type = model->type, .level = model->level});
  ModelBuilder builder(*model, packer);  // lives until all weights are packed
  builder.add_all();
  const std::string made_for =
      fmt::format("{}-{}", kernels::cpu_level_name(model->level), name_of(model->type));
  // The level "baseline" is of every architecture.
  PackedFileOptions file{
      .path = {},
      .key = fmt::format("for {} on {}, as {:08x}\nfrom {}\n", made_for, architecture(),
                         packing_checksum(packer.options()), model->stored->fingerprint())};
  if (options.keeps_packed_file) file.path = folder / fmt::format("packed-{}.bin", made_for);
  model->packed = std::make_unique<const PackedWeights>(packer.parts(), file);
  return model;
}

}  // namespace convseq
