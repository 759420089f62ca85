#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/spec/model_config.h"

namespace convseq::testing {

// The models of make_goldens.py: for each a file with its parameters ("param.NAME"), inputs, and
// the results of PyTorch.
inline std::vector<std::string> golden_models() {
  return {"depthwise",
          "light",
          "dynamic",
          "dilated",
          "attention",
          "light_even_kernel",
          "light_encoder_attention",
          "light_pre_rms",
          "light_no_glu_no_softmax",
          "attention_learned",
          "dynamic_untied_classifier",
          "gated"};
}

inline std::filesystem::path golden_file(const std::string& model) {
  return std::filesystem::path(CONVSEQ_SOURCE_DIR "/tests/goldens") / (model + ".safetensors");
}

// Of the metadata of a golden file.
inline ModelConfig golden_config(const std::map<std::string, std::string>& metadata) {
  return ModelConfig::from_json({parse_json(metadata.at("config"), "golden"), "golden"});
}

// The tensors or views of the model's parameters, under their own names.
template <class Tensors>
Tensors golden_parameters(const Tensors& all) {
  constexpr std::string_view kPrefix = "param.";
  Tensors parameters;
  for (const auto& [name, tensor] : all) {
    if (name.starts_with(kPrefix)) parameters[name.substr(kPrefix.size())] = tensor;
  }
  return parameters;
}

}  // namespace convseq::testing
