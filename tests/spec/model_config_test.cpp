#include "convseq/spec/model_config.h"

#include <gtest/gtest.h>

#include "convseq/spec/presets.h"
#include "temp_folder.h"

namespace convseq {
using testing::message_of;
using testing::TempFolder;

namespace {

Json good() {
  return {{"mixer", "light"},    {"vocab_size", 100},   {"d_model", 12},  {"d_ff", 24},
          {"encoder_layers", 2}, {"decoder_layers", 2}, {"conv_heads", 4}};
}

std::string refusal(const std::string& key, const Json& value) {
  Json json = good();
  json[key] = value;
  return message_of<Error>([&] { ModelConfig::from_json({json, "x.json"}); });
}

}  // namespace

TEST(ModelConfig, RefusesByKeyValueAndWhatIsAllowed) {
  const std::vector<std::tuple<std::string, Json, std::string>> table = {
      {"mixer", "lite", "mixer is \"lite\"; allowed: " + all_names<MixerKind>()},
      {"norm", 3, "norm is 3; allowed: branch_layer_norm, pre_rms_norm"},
      {"ffn", "gelu", "ffn is \"gelu\"; allowed: relu, gated_gelu"},
      {"positions", "sinus", "positions is \"sinus\"; allowed: none, learned, relative"},
      {"positions", "relative",
       "positions is \"relative\", but no layer has self-attention; allowed: none, learned"},
      {"d_model", 0, "d_model is 0; allowed: 1 to 16777216"},
      {"d_model", "12", "d_model is \"12\"; allowed: a whole number"},
      {"d_model", 13, "d_model 13 does not divide into conv_heads 4"},
      {"heads", 0, "heads is 0; allowed: 1 to 16777216"},
      {"heads", 1 << 20, "heads 1048576 times d_kv 64 is 67108864; allowed: up to 16777216"},
      {"conv_heads", 0, "conv_heads is 0; allowed: 1 to 16777216"},
      {"kernel_sizes", {3, 3, 3}, "kernel_sizes has 3 entries for 2 layers"},
      {"kernel_sizes", Json::array(), "kernel_sizes has 0 entries for 2 layers"},
      {"kernel_sizes", 0, "kernel_sizes is 0; allowed: 1 to 65536"},
      {"kernel_sizes", {3, -1}, "kernel_sizes is -1; allowed: 1 to 65536"},
      {"kernel_sizes", 2.5, "kernel_sizes is 2.5; allowed: a whole number"},
      {"dilations", {1, 2, 3}, "dilations has 3 entries for 2 layers"},
      {"decoder_kernel_sizes",
       {3, 3, 3},
       "decoder_kernel_sizes has 3 entries for 2 decoder layers"},
      {"decoder_layers", 0, "decoder_layers is 0; allowed: 1 to 1000"},
      {"encoder_attention_layers", {2}, "encoder_attention_layers is 2; allowed: 0 to 1"},
      {"encoder_attention_layers", {1, 1}, "encoder_attention_layers names layer 1 twice"},
      {"dropout", 1.0, "dropout is 1; allowed: 0 to 0.99"},
      {"glu", 1, "glu is 1; allowed: true, false"},
      {"label_kind", "many", "label_kind is \"many\"; allowed: single, multi"},
      {"label_kind", "multi",
       "label_kind is \"multi\", which needs a classification head: classes is 0"},
      {"pad_token_id", 100, "pad_token_id is 100; allowed: 0 to 99"},
      {"mixer", "gated", "glu is true, but mixer gated has gates of its own; allowed: false"},
      {"model_type", "bert", "model_type is \"bert\"; allowed: convseq"},
      {"model_type", "t5", "model_type is \"t5\"; make it a convseq model with `convseq convert`"},
  };
  for (const auto& [key, value, expected] : table)
    EXPECT_EQ(refusal(key, value), "x.json: " + expected);
  EXPECT_EQ(
      refusal("kernel", 3).find("x.json: kernel is no known key; allowed: model_type, mixer, "),
      0u);
}

TEST(ModelConfig, NamesAMissingKey) {
  Json json = good();
  json.erase("d_ff");
  EXPECT_EQ(message_of<Error>([&] {
              ModelConfig::from_json({json, "x.json"});
            }),
            "x.json: d_ff is missing");
}

TEST(ModelConfig, IsDocumentedKeyByKey) {
  const std::string document = read_text_file(CONVSEQ_SOURCE_DIR "/docs/models.md");
  for (const std::string& key : ModelConfig::keys()) {
    EXPECT_NE(document.find("\n| `" + key + "` | "), document.npos) << key;
  }
  for (const auto& [kind, name] : kEnumNames<MixerKind>) {
    EXPECT_NE(document.find(fmt::format("`{}`", name)), document.npos) << name;
  }
}

TEST(ModelConfig, ReadsWhatItWrites) {
  for (const std::string& name : preset_names()) {
    const ModelConfig config = find_model_config(name, {"decoder_kernel_sizes=5", "dropout=0.1"});
    EXPECT_EQ(ModelConfig::from_json({config.to_json(), name}), config) << name;
  }
}

TEST(ModelConfig, NamesTheKindOfItsLabelsOnlyIfThereAreSeveral) {
  ModelConfig config = find_model_config("paper-light-tiny", {"classes=3", "decoder_layers=0"});
  EXPECT_FALSE(config.to_json().contains("label_kind"));
  config.label_kind = LabelKind::Multi;
  EXPECT_EQ(config.to_json()["label_kind"], "multi");
  EXPECT_EQ(ModelConfig::from_json({config.to_json(), "x.json"}), config);
}

TEST(Presets, AreAFamilyPerMixerInFourSizes) {
  EXPECT_EQ(preset_families().size(), kEnumNames<MixerKind>.size());
  EXPECT_EQ(preset_names().size(), 4 * preset_families().size());
  for (const auto& [kind, name] : kEnumNames<MixerKind>) {
    const size_t family = static_cast<size_t>(kind);
    EXPECT_EQ(find_model_config(preset_families()[family] + "-tiny").mixer, kind) << name;
  }
  for (const std::string& name : preset_names()) EXPECT_NO_THROW(find_model_config(name)) << name;
}

TEST(Presets, CanBeOverridden) {
  const ModelConfig config = find_model_config(
      "paper-light-tiny", {"kernel_sizes=[3,5]", "norm=pre_rms_norm", "glu=false", "dropout=0.25"});
  EXPECT_EQ(config.kernel_sizes.values, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(config.norm, NormStyle::PreRmsNorm);
  EXPECT_FALSE(config.glu);
  EXPECT_EQ(config.dropout, 0.25);
  EXPECT_EQ(message_of<Error>([] { find_model_config("paper-light-tiny", {"glu"}); }),
            "overrides=glu: wants KEY=VALUE");
}

}  // namespace convseq
