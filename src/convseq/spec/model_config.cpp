#include "convseq/spec/model_config.h"

#include <algorithm>
#include <set>

#include "convseq/spec/config_check.h"
#include "convseq/spec/mixer_description.h"

namespace convseq {
namespace {

constexpr int64_t kMostLayers = 1000;

const std::vector<std::string> kRequired = {"mixer", "vocab_size",     "d_model",
                                            "d_ff",  "encoder_layers", "decoder_layers"};

// The one list of keys: reading, writing and the check for unknown keys all walk it.
template <class Config, class Visit>
void visit_fields(Config& config, Visit visit) {
  visit("mixer", config.mixer);
  visit("vocab_size", config.vocab_size);
  visit("d_model", config.d_model);
  visit("d_ff", config.d_ff);
  visit("encoder_layers", config.encoder_layers);
  visit("decoder_layers", config.decoder_layers);
  visit("heads", config.heads);
  visit("d_kv", config.d_kv);
  visit("kernel_sizes", config.kernel_sizes);
  visit("dilations", config.dilations);
  visit("decoder_kernel_sizes", config.decoder_kernel_sizes);
  visit("decoder_dilations", config.decoder_dilations);
  visit("conv_heads", config.conv_heads);
  visit("glu", config.glu);
  visit("tap_softmax", config.tap_softmax);
  visit("norm", config.norm);
  visit("norm_eps", config.norm_eps);
  visit("ffn", config.ffn);
  visit("positions", config.positions);
  visit("max_positions", config.max_positions);
  visit("relative_buckets", config.relative_buckets);
  visit("relative_max_distance", config.relative_max_distance);
  visit("encoder_attention_layers", config.encoder_attention_layers);
  visit("tie_embeddings", config.tie_embeddings);
  visit("classes", config.classes);
  visit("labels", config.labels);
  visit("label_kind", config.label_kind);
  visit("dropout", config.dropout);
  visit("tap_dropout", config.tap_dropout);
  visit("pad_token_id", config.pad_token_id);
  visit("eos_token_id", config.eos_token_id);
  visit("decoder_start_token_id", config.decoder_start_token_id);
}

struct Reader {
  const JsonObject& json;

  template <class T>
  void operator()(const char* key, T& value) const {
    value = json.get_or<T>(key, value);
  }
  void operator()(const char* key, PerLayer& value) const {
    if (!json.has(key)) return;
    if (json.json().at(key).is_array()) {
      value.values = json.get<std::vector<int64_t>>(key);
    } else {
      value.values = {json.get<int64_t>(key)};
    }
  }
};

struct Writer {
  Json& json;

  template <class T>
  void operator()(const char* key, const T& value) const {
    if constexpr (NamedEnum<T>) {
      json[key] = std::string(name_of(value));
    } else {
      json[key] = value;
    }
  }
  void operator()(const char* key, const PerLayer& value) const {
    if (value.values.size() == 1) json[key] = value.values[0];
    if (value.values.size() > 1) json[key] = value.values;
  }
  // Left out where it is the default, so that older versions read the file.
  void operator()(const char* key, LabelKind value) const {
    if (value != LabelKind::Single) json[key] = std::string(name_of(value));
  }
};

void check_sizes(const ConfigCheck& check) {
  const ModelConfig& config = check.config();
  for (const auto& [key, value] :
       std::initializer_list<std::pair<const char*, int64_t>>{{"vocab_size", config.vocab_size},
                                                              {"d_model", config.d_model},
                                                              {"d_ff", config.d_ff},
                                                              {"heads", config.heads},
                                                              {"d_kv", config.d_kv}}) {
    check.within(key, value, {1, kLargestSize});
  }
  check.product_within_largest("heads", config.heads, "d_kv", config.d_kv);
  check.within("encoder_layers", config.encoder_layers, {1, kMostLayers});
  // A model with a classification head may do without a decoder.
  check.within("decoder_layers", config.decoder_layers,
               {config.classes > 0 ? 0.0 : 1.0, kMostLayers});
  check.within("norm_eps", config.norm_eps, {0, 1});
  check.within("dropout", config.dropout, {0, 0.99});
  check.within("tap_dropout", config.tap_dropout, {0, 0.99});
  const auto last_id = static_cast<double>(config.vocab_size - 1);
  check.within("pad_token_id", config.pad_token_id, {0, last_id});
  check.within("eos_token_id", config.eos_token_id, {0, last_id});
  check.within("decoder_start_token_id", config.decoder_start_token_id, {0, last_id});
}

void check_classes(const ConfigCheck& check) {
  const int64_t classes = check.config().classes;
  const std::vector<std::string>& labels = check.config().labels;
  check.within("classes", classes, {0, kLargestSize});
  if (!labels.empty() && std::ssize(labels) != classes) {
    check.refuse("labels", "has {} entries for {} classes", labels.size(), classes);
  }
  if (check.config().label_kind == LabelKind::Multi && classes == 0) {
    check.refuse("label_kind", "is \"multi\", which needs a classification head: classes is 0");
  }
  std::set<std::string_view> seen;
  for (const std::string& label : labels) {
    if (!seen.insert(label).second) check.refuse("labels", "names {} twice", label);
  }
}

void check_positions(const ConfigCheck& check) {
  const ModelConfig& config = check.config();
  check.within("max_positions", config.max_positions, {1, kLargestSize});
  if (config.positions != Positions::Relative) return;
  check.within("relative_buckets", config.relative_buckets, {4, 1 << 16});
  if (config.relative_buckets % 2 != 0) {
    check.refuse("relative_buckets", "is {}; allowed: an even number", config.relative_buckets);
  }
  const int64_t nearest = config.relative_buckets / 2 + 1;
  check.within("relative_max_distance", config.relative_max_distance,
               {static_cast<double>(nearest), 1 << 16});
  if (!config.has_self_attention(Side::Encoder) && !config.has_self_attention(Side::Decoder)) {
    check.refuse("positions",
                 "is \"relative\", but no layer has self-attention; allowed: none, learned");
  }
}

void check_encoder_attention(const ConfigCheck& check) {
  std::set<int64_t> seen;
  for (const int64_t layer : check.config().encoder_attention_layers) {
    check.within("encoder_attention_layers", layer,
                 {0, static_cast<double>(check.config().encoder_layers - 1)});
    if (!seen.insert(layer).second) {
      check.refuse("encoder_attention_layers", "names layer {} twice", layer);
    }
  }
}

}  // namespace

ModelConfig ModelConfig::load(const std::filesystem::path& path) {
  return from_json(JsonObject::from_file(path));
}

ModelConfig ModelConfig::from_json(const JsonObject& json) {
  const auto type = json.get_or<std::string>("model_type", "convseq");
  if (type == "t5")
    json.refuse("model_type", "is \"t5\"; make it a convseq model with `convseq convert`");
  if (type != "convseq") json.refuse("model_type", "is \"{}\"; allowed: convseq", type);
  ModelConfig config;
  std::vector<std::string> known = keys();
  known.insert(known.begin(), "model_type");
  json.allow_only(known);
  for (const std::string& key : kRequired) {
    require(json.has(key), "{}: {} is missing", json.origin(), key);
  }
  visit_fields(config, Reader{json});
  const ConfigCheck check(config, json);
  check_sizes(check);
  check_classes(check);
  description_of(config.mixer).check(check);
  check_positions(check);
  check_encoder_attention(check);
  return config;
}

std::vector<std::string> ModelConfig::keys() {
  std::vector<std::string> all;
  const ModelConfig config;
  visit_fields(config, [&](const char* key, const auto&) { all.emplace_back(key); });
  return all;
}

Json ModelConfig::to_json() const {
  Json json = {{"model_type", "convseq"}};
  visit_fields(*this, Writer{json});
  return json;
}

const PerLayer& ModelConfig::kernels(Side side) const {
  const bool own = side == Side::Decoder && !decoder_kernel_sizes.values.empty();
  return own ? decoder_kernel_sizes : kernel_sizes;
}

const PerLayer& ModelConfig::dilations_of(Side side) const {
  const bool own = side == Side::Decoder && !decoder_dilations.values.empty();
  return own ? decoder_dilations : dilations;
}

bool ModelConfig::has_self_attention(Side side) const {
  return description_of(mixer).attends ||
         (side == Side::Encoder && !encoder_attention_layers.empty());
}

bool ModelConfig::has_encoder_attention(int64_t layer) const {
  return std::count(encoder_attention_layers.begin(), encoder_attention_layers.end(), layer) > 0;
}

}  // namespace convseq
