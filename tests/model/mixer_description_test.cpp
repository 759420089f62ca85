#include "convseq/spec/mixer_description.h"

#include <gtest/gtest.h>

#include "convseq/model/layer_options.h"
#include "convseq/nn/parameter.h"
#include "convseq/spec/presets.h"
#include "model_table.h"

namespace convseq {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

Shapes described_shapes(const MixerLayer& layer) {
  Shapes shapes;
  for (const MixerMatmul& each : layer.matmuls) shapes[each.name + ".weight"] = {each.out, each.in};
  for (const MixerParameter& each : layer.other_parameters) shapes[each.name] = each.shape;
  return shapes;
}

Shapes real_shapes(const nn::Mixer& mixer) {
  Shapes shapes;
  for (const auto& each : mixer.named_parameters()) shapes[each.key()] = each.value().sizes().vec();
  return shapes;
}

}  // namespace

TEST(MixerDescription, NamesTheParametersOfTheRealMixer) {
  for (const auto& [name, config] : testing::model_cases()) {
    for (const Side side : {Side::Encoder, Side::Decoder}) {
      for (int64_t layer = 0; layer < config.layers(side); ++layer) {
        const nn::ShapesOnly no_memory;
        const auto mixer = nn::make_mixer(mixer_options(config, side, layer));
        EXPECT_EQ(described_shapes(mixer_layer(config, side, layer)), real_shapes(*mixer)) << name;
      }
    }
  }
}

TEST(MixerDescription, OfEveryPresetAgreesWithItself) {
  for (const std::string& name : preset_names()) {
    const ModelConfig config = find_model_config(name);
    const MixerLayer layer = mixer_layer(config, Side::Decoder, 0);
    EXPECT_EQ(layer.attention.has_value(), description_of(config.mixer).attends) << name;
    EXPECT_EQ(layer.reach.has_value(), !layer.attention) << name;
    EXPECT_GT(layer.state_values + layer.state_values_per_token, 0) << name;
    EXPECT_FALSE(layer.matmuls.empty()) << name;
  }
}

}  // namespace convseq
