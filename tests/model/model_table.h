#pragma once

#include <string>
#include <vector>

#include "convseq/spec/model_config.h"

namespace convseq::testing {

// Tiny models of every kind. A new mixer adds one row.
struct ModelCase {
  std::string name;
  ModelConfig config;
};

inline std::vector<ModelCase> model_cases() {
  const auto with = [](auto change) {
    ModelConfig config{.vocab_size = 19,
                       .d_model = 12,
                       .d_ff = 16,
                       .encoder_layers = 2,
                       .decoder_layers = 2,
                       .heads = 3,
                       .d_kv = 4};
    config.kernel_sizes = {{3, 5}};
    config.conv_heads = 4;
    change(config);
    return config;
  };
  const auto t5 = [](ModelConfig& c) {
    c.mixer = MixerKind::Attention;
    c.norm = NormStyle::PreRmsNorm;
    c.positions = Positions::Relative;
  };
  return {
      {"attention", with(t5)},
      {"attention_learned", with([](auto& c) {
         c.mixer = MixerKind::Attention;
         c.positions = Positions::Learned;
         c.max_positions = 20;
       })},
      {"depthwise", with([](auto& c) { c.mixer = MixerKind::Depthwise, c.tap_softmax = false; })},
      {"light", with([](auto&) {})},
      {"light_with_attention", with([](auto& c) {
         c.encoder_attention_layers = {0, 1};
         c.positions = Positions::Relative;
       })},
      {"light_pre_norm", with([](auto& c) {
         c.norm = NormStyle::PreRmsNorm;
         c.ffn = FeedForwardKind::GatedGelu;
         c.tie_embeddings = false;
       })},
      {"dynamic", with([](auto& c) { c.mixer = MixerKind::Dynamic; })},
      {"dilated", with([](auto& c) {
         c.mixer = MixerKind::Dilated;
         c.dilations = {{2}};
         c.decoder_kernel_sizes = {{4}};
         c.decoder_dilations = {{1, 3}};
       })},
      {"gated", with([](auto& c) {
         c.mixer = MixerKind::Gated;
         c.glu = c.tap_softmax = false;
       })},
  };
}

}  // namespace convseq::testing
