#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "convseq/nn/mixer/mixer.h"

namespace convseq::testing {

// All mixers and variants under test. A new mixer adds one row.
struct MixerCase {
  std::string name;
  nn::MixerOptions options;
};

inline std::vector<MixerCase> mixer_cases() {
  const auto with = [](MixerKind kind, auto change) {
    nn::MixerOptions options{
        .kind = kind, .channels = 12, .heads = 3, .head_channels = 4, .kernel = 5, .conv_heads = 4};
    change(options);
    return options;
  };
  return {
      {"attention", with(MixerKind::Attention, [](auto&) {})},
      {"depthwise", with(MixerKind::Depthwise, [](auto& o) { o.tap_softmax = false; })},
      {"light", with(MixerKind::Light, [](auto&) {})},
      {"light_even_kernel", with(MixerKind::Light, [](auto& o) { o.kernel = 4; })},
      {"light_one_tap", with(MixerKind::Light, [](auto& o) { o.kernel = 1; })},
      {"light_no_glu", with(MixerKind::Light, [](auto& o) { o.glu = o.tap_softmax = false; })},
      {"dynamic", with(MixerKind::Dynamic, [](auto&) {})},
      {"dynamic_raw_taps", with(MixerKind::Dynamic, [](auto& o) { o.tap_softmax = false; })},
      {"dynamic_no_glu", with(MixerKind::Dynamic, [](auto& o) { o.glu = false; })},
      {"dilated", with(MixerKind::Dilated, [](auto& o) { o.dilation = 3; })},
      {"dilated_even_kernel",
       with(MixerKind::Dilated, [](auto& o) { o.kernel = 4, o.dilation = 2; })},
      {"gated", with(MixerKind::Gated, [](auto& o) { o.glu = o.tap_softmax = false; })},
  };
}

inline MixerCase find_case(const std::string& name) {
  for (const MixerCase& each : mixer_cases()) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no mixer case " << name;
  return {};
}

inline std::shared_ptr<nn::Mixer> make(const MixerCase& each, bool causal, torch::Dtype dtype) {
  nn::MixerOptions options = each.options;
  options.causal = causal;
  auto mixer = nn::make_mixer(options);
  auto random = at::make_generator<at::CPUGeneratorImpl>(7);
  mixer->initialise(random);
  mixer->to(dtype);
  return mixer;
}

}  // namespace convseq::testing
