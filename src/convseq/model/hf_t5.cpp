#include "convseq/model/hf_t5.h"

#include <torch/types.h>

#include <cmath>
#include <set>

namespace convseq {
namespace fs = std::filesystem;
namespace {

FeedForwardKind feed_forward_kind(const JsonObject& json) {
  const auto kind = json.get_or<std::string>("feed_forward_proj", "relu");
  if (kind == "relu") return FeedForwardKind::Relu;
  if (kind == "gated-gelu") return FeedForwardKind::GatedGelu;
  json.refuse("feed_forward_proj", "is \"{}\"; allowed: relu, gated-gelu", kind);
}

// transformers writes null for default values.
JsonObject without_nulls(const JsonObject& given) {
  Json json = Json::object();
  for (const auto& [key, value] : given.json().items()) {
    if (!value.is_null()) json[key] = value;
  }
  return {std::move(json), given.origin()};
}

ModelConfig config_of(const JsonObject& json) {
  const auto type = json.get<std::string>("model_type");
  if (type != "t5") json.refuse("model_type", "is \"{}\"; allowed: t5", type);
  const auto layers = json.get<int64_t>("num_layers");
  ModelConfig config{.mixer = MixerKind::Attention,
                     .vocab_size = json.get<int64_t>("vocab_size"),
                     .d_model = json.get<int64_t>("d_model"),
                     .d_ff = json.get<int64_t>("d_ff"),
                     .encoder_layers = layers,
                     .decoder_layers = json.get_or<int64_t>("num_decoder_layers", layers),
                     .heads = json.get<int64_t>("num_heads"),
                     .d_kv = json.get<int64_t>("d_kv")};
  config.norm = NormStyle::PreRmsNorm;
  config.norm_eps = json.get_or("layer_norm_epsilon", 1e-6);
  config.ffn = feed_forward_kind(json);
  config.positions = Positions::Relative;
  config.relative_buckets = json.get_or<int64_t>("relative_attention_num_buckets", 32);
  config.relative_max_distance = json.get_or<int64_t>("relative_attention_max_distance", 128);
  config.dropout = json.get_or("dropout_rate", 0.0);
  config.pad_token_id = json.get_or<int64_t>("pad_token_id", 0);
  config.eos_token_id = json.get_or<int64_t>("eos_token_id", 1);
  config.decoder_start_token_id = json.get_or("decoder_start_token_id", config.pad_token_id);
  return config;
}

constexpr const char* kIndexFile = "model.safetensors.index.json";

// Throws an Error that names the supported formats if the weights have another one.
void check_format(const fs::path& folder) {
  if (fs::exists(folder / kIndexFile) || fs::exists(folder / kWeightsFile)) return;
  for (const char* other :
       {"pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack"}) {
    require(!fs::exists(folder / other),
            "{}: holds {}; weights are read from {}, or from shards with {}. Save the model again "
            "with transformers: model.save_pretrained(folder, safe_serialization=True)",
            folder.string(), other, kWeightsFile, kIndexFile);
  }
}

TensorMap read_weights(const fs::path& folder) {
  check_format(folder);
  const fs::path index_file = folder / kIndexFile;
  if (!fs::exists(index_file)) return load_tensors(folder / kWeightsFile).tensors;
  const JsonObject index = JsonObject::from_file(index_file);
  require(index.has("weight_map"), "{}: weight_map is missing", index_file.string());
  const JsonObject map = index.inner("weight_map");
  std::set<std::string> shards;
  for (const std::string& name : map.keys()) shards.insert(map.get<std::string>(name));
  TensorMap weights;
  for (const std::string& shard : shards) {
    require(!shard.empty() && fs::path(shard).filename() == shard,
            "{}: shard \"{}\" is no file name", index_file.string(), shard);
    weights.merge(load_tensors(folder / shard).tensors);
  }
  return weights;
}

// Renames the tensors of the folder from their Hugging Face names to ours.
class Renamer {
 public:
  Renamer(TensorMap theirs, std::string origin)
      : theirs_(std::move(theirs)), origin_(std::move(origin)) {}

  bool has(const std::string& name) const { return theirs_.contains(name); }

  void take(const std::string& their_name, const std::string& our_name) {
    const auto found = theirs_.find(their_name);
    require(found != theirs_.end(), "{}: tensor {} is missing", origin_, their_name);
    ours_[our_name] = found->second;
    theirs_.erase(found);
  }

  void drop(const std::string& their_name) { theirs_.erase(their_name); }

  TensorMap finish() {
    require(theirs_.empty(), "{}: tensor {} is not part of a T5", origin_,
            theirs_.empty() ? "" : theirs_.begin()->first);
    return std::move(ours_);
  }

  TensorMap& ours() { return ours_; }

 private:
  TensorMap theirs_;
  std::string origin_;
  TensorMap ours_;
};

void take_attention(Renamer& names, const std::string& theirs, const std::string& ours) {
  for (const auto& [their, our] :
       {std::pair{"q", "query"}, {"k", "key"}, {"v", "value"}, {"o", "output"}}) {
    names.take(fmt::format("{}.{}.weight", theirs, their), fmt::format("{}.{}.weight", ours, our));
  }
}

void take_stack(Renamer& names, const ModelConfig& config, Side side) {
  const bool decoder = side == Side::Decoder;
  const std::string stack = decoder ? "decoder" : "encoder";
  for (int64_t layer = 0; layer < config.layers(side); ++layer) {
    const std::string theirs = fmt::format("{}.block.{}.layer", stack, layer);
    const std::string ours = fmt::format("{}.blocks.{}", stack, layer);
    take_attention(names, theirs + ".0.SelfAttention", ours + ".mixer");
    names.take(theirs + ".0.layer_norm.weight", ours + ".mixer_norm.weight");
    if (decoder) {
      take_attention(names, theirs + ".1.EncDecAttention", ours + ".cross");
      names.take(theirs + ".1.layer_norm.weight", ours + ".cross_norm.weight");
    }
    const std::string ffn = theirs + (decoder ? ".2" : ".1");
    const bool gated = config.ffn == FeedForwardKind::GatedGelu;
    if (gated) names.take(ffn + ".DenseReluDense.wi_0.weight", ours + ".ffn.gate.weight");
    names.take(ffn + (gated ? ".DenseReluDense.wi_1.weight" : ".DenseReluDense.wi.weight"),
               ours + ".ffn.up.weight");
    names.take(ffn + ".DenseReluDense.wo.weight", ours + ".ffn.down.weight");
    names.take(ffn + ".layer_norm.weight", ours + ".ffn_norm.weight");
  }
  names.take(stack + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight",
             stack + ".relative_bias.weight");
  names.take(stack + ".final_layer_norm.weight", stack + ".norm.weight");
}

// transformers scales the decoder's output if `scale_decoder_outputs` is set (since version 5) or
// if the embeddings are tied (before). We scale exactly when tied, so tied without scaling and
// scaled without tying become a separate output matrix that includes the factor.
void take_output(Renamer& names, ModelConfig& config, const JsonObject& json) {
  const bool tied_by_name = json.get_or("tie_word_embeddings", true);
  const bool scaled = json.get_or("scale_decoder_outputs", tied_by_name);
  const std::string head = "lm_head.weight", table = "embedding.weight", output = "output.weight";
  if (names.has(head)) {
    names.take(head, output);
    config.tie_embeddings = torch::equal(names.ours()[output], names.ours()[table]);
  } else {
    names.ours()[output] = names.ours()[table];
  }
  if (config.tie_embeddings && scaled) {
    names.ours().erase(output);
    return;
  }
  config.tie_embeddings = false;
  if (scaled)
    names.ours()[output] = names.ours()[output] / std::sqrt(static_cast<double>(config.d_model));
}

}  // namespace

ModelFolder read_hf_t5(const fs::path& folder) {
  require(fs::is_directory(folder), "{}: no such folder", folder.string());
  const JsonObject json = without_nulls(JsonObject::from_file(folder / kConfigFile));
  ModelConfig config = config_of(json);
  // Checks the configuration as our own, so that an Error names a wrong size before any tensor is
  // read.
  ModelConfig::from_json({config.to_json(), json.origin()});
  Renamer names(read_weights(folder), folder.string());
  names.take("shared.weight", "embedding.weight");
  // Older files repeat the shared embedding for each stack, and the original ones hold an unused
  // bias of the encoder-decoder attention.
  for (const char* unused :
       {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight",
        "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"}) {
    names.drop(unused);
  }
  take_output(names, config, json);
  take_stack(names, config, Side::Encoder);
  take_stack(names, config, Side::Decoder);
  ModelFolder model{
      .config = config, .weights = names.finish(), .extras = {.tokenizer_from = folder}};
  check_parameters(parameters_of(config), model.weights, folder.string());
  check_finite(model.weights, folder.string());
  return model;
}

}  // namespace convseq
