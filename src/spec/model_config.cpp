#include "convseq/spec/model_config.h"

#include <algorithm>
#include <limits>
#include <set>

namespace convseq {
namespace {

constexpr int64_t kMostLayers = 1000;
constexpr int64_t kLargest = int64_t{1} << 24;  // of any size: keeps every product within 64 bits

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
};

struct Range {
  double least;
  double most;
};

class Checker {
 public:
  Checker(const ModelConfig& config, const JsonObject& json) : config_(config), json_(json) {}

  void check() const {
    check_sizes();
    if (config_.mixer != MixerKind::Attention) check_convolutions();
    check_positions();
    check_encoder_attention();
  }

 private:
  template <class T>
  void within(const char* key, T value, Range range) const {
    const auto number = static_cast<double>(value);
    if (number >= range.least && number <= range.most) return;
    json_.refuse(key, "is {}; allowed: {} to {}", value, range.least, range.most);
  }

  // The width of a matrix that is the product of two sizes.
  void no_larger_than_largest(const char* key, int64_t value, const char* other_key,
                              int64_t other) const {
    if (value * other <= kLargest) return;  // both were checked: no overflow
    json_.refuse(key, "{} times {} {} is {}; allowed: up to {}", value, other_key, other,
                 value * other, kLargest);
  }

  void check_sizes() const {
    for (const auto& [key, value] :
         std::initializer_list<std::pair<const char*, int64_t>>{{"vocab_size", config_.vocab_size},
                                                                {"d_model", config_.d_model},
                                                                {"d_ff", config_.d_ff},
                                                                {"heads", config_.heads},
                                                                {"d_kv", config_.d_kv}}) {
      within(key, value, {1, kLargest});
    }
    no_larger_than_largest("heads", config_.heads, "d_kv", config_.d_kv);
    within("encoder_layers", config_.encoder_layers, {1, kMostLayers});
    // With a head of its own the encoder needs no decoder.
    within("decoder_layers", config_.decoder_layers,
           {config_.classes > 0 ? 0.0 : 1.0, kMostLayers});
    within("classes", config_.classes, {0, kLargest});
    if (!config_.labels.empty() && std::ssize(config_.labels) != config_.classes) {
      json_.refuse("labels", "has {} entries for {} classes", config_.labels.size(),
                   config_.classes);
    }
    for (auto label = config_.labels.begin(); label != config_.labels.end(); ++label) {
      if (std::find(config_.labels.begin(), label, *label) != label)
        json_.refuse("labels", "names {} twice", *label);
    }
    within("norm_eps", config_.norm_eps, {0, 1});
    within("dropout", config_.dropout, {0, 0.99});
    within("tap_dropout", config_.tap_dropout, {0, 0.99});
    const auto last_id = static_cast<double>(config_.vocab_size - 1);
    within("pad_token_id", config_.pad_token_id, {0, last_id});
    within("eos_token_id", config_.eos_token_id, {0, last_id});
    within("decoder_start_token_id", config_.decoder_start_token_id, {0, last_id});
  }

  void check_convolutions() const {
    within("conv_heads", config_.conv_heads, {1, kLargest});
    if (config_.mixer != MixerKind::Depthwise && config_.d_model % config_.conv_heads != 0) {
      json_.refuse("d_model", "{} does not divide into conv_heads {}", config_.d_model,
                   config_.conv_heads);
    }
    per_layer("kernel_sizes", config_.kernel_sizes, Side::Encoder);
    per_layer("dilations", config_.dilations, Side::Encoder);
    const bool own_kernels = !config_.decoder_kernel_sizes.values.empty();
    const bool own_dilations = !config_.decoder_dilations.values.empty();
    per_layer(own_kernels ? "decoder_kernel_sizes" : "kernel_sizes", config_.kernels(Side::Decoder),
              Side::Decoder);
    per_layer(own_dilations ? "decoder_dilations" : "dilations", config_.spacing(Side::Decoder),
              Side::Decoder);
    if (config_.mixer != MixerKind::Dynamic) return;
    for (const Side side : {Side::Encoder, Side::Decoder}) {
      for (int64_t kernel : config_.kernels(side).values) {
        no_larger_than_largest("conv_heads", config_.conv_heads, "kernel size", kernel);
      }
    }
  }

  void per_layer(const char* key, const PerLayer& value, Side side) const {
    const auto entries = static_cast<int64_t>(value.values.size());
    if (entries != 1 && entries != config_.layers(side) && config_.layers(side) > 0) {
      json_.refuse(key, "has {} entries for {} {}layers", entries, config_.layers(side),
                   side == Side::Decoder ? "decoder " : "");
    }
    for (int64_t each : value.values) within(key, each, {1, 1 << 16});
  }

  void check_positions() const {
    within("max_positions", config_.max_positions, {1, kLargest});
    if (config_.positions != Positions::Relative) return;
    within("relative_buckets", config_.relative_buckets, {4, 1 << 16});
    if (config_.relative_buckets % 2 != 0) {
      json_.refuse("relative_buckets", "is {}; allowed: an even number", config_.relative_buckets);
    }
    within("relative_max_distance", config_.relative_max_distance,
           {static_cast<double>(config_.relative_buckets / 2 + 1), kLargest});
    if (!config_.has_self_attention(Side::Encoder) && !config_.has_self_attention(Side::Decoder)) {
      json_.refuse("positions",
                   "is \"relative\", but no layer has self-attention; allowed: none, learned");
    }
  }

  void check_encoder_attention() const {
    std::set<int64_t> seen;
    for (int64_t layer : config_.encoder_attention_layers) {
      within("encoder_attention_layers", layer,
             {0, static_cast<double>(config_.encoder_layers - 1)});
      if (!seen.insert(layer).second) {
        json_.refuse("encoder_attention_layers", "names layer {} twice", layer);
      }
    }
  }

  const ModelConfig& config_;
  const JsonObject& json_;
};

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
  std::vector<std::string> known = {"model_type"};
  visit_fields(config, [&](const char* key, auto&) { known.emplace_back(key); });
  json.allow_only(known);
  for (const std::string& key : kRequired) {
    require(json.has(key), "{}: {} is missing", json.origin(), key);
  }
  visit_fields(config, Reader{json});
  Checker(config, json).check();
  return config;
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

const PerLayer& ModelConfig::spacing(Side side) const {
  const bool own = side == Side::Decoder && !decoder_dilations.values.empty();
  return own ? decoder_dilations : dilations;
}

bool ModelConfig::has_self_attention(Side side) const {
  return mixer == MixerKind::Attention ||
         (side == Side::Encoder && !encoder_attention_layers.empty());
}

bool ModelConfig::has_encoder_attention(int64_t layer) const {
  return std::count(encoder_attention_layers.begin(), encoder_attention_layers.end(), layer) > 0;
}

}  // namespace convseq
