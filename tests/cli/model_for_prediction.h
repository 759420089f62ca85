#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "convseq/base/file/json_file.h"
#include "convseq/base/safetensors/safetensors.h"
#include "temp_folder.h"

namespace convseq::testing {

// A tiny model folder that remembers a task with the labels yes and no. `changed` replaces keys of
// task.json; null removes one.
inline std::filesystem::path model_for_prediction(const TempFolder& folder,
                                                  const std::string& name = "model",
                                                  const Json& changed = Json::object()) {
  namespace fs = std::filesystem;
  const fs::path golden = fs::path(CONVSEQ_SOURCE_DIR) / "tests/goldens/run_v0_1";
  const fs::path model = folder / name;
  fs::create_directory(model);
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::copy_file(golden / "finetune/best" / file, model / file);
  }
  for (const char* file : {"spiece.model", "tokenizer_config.json"}) {
    fs::copy_file(golden / file, model / file);
  }
  Json task = {{"name", "claims"},        {"source", "claim: {text}"}, {"target", "{label}"},
               {"labels", {"yes", "no"}}, {"positive_label", "yes"},   {"metrics", {"accuracy"}},
               {"max_source_tokens", 90}, {"max_target_tokens", 5}};
  for (const auto& [key, value] : changed.items()) {
    task.erase(key);
    if (!value.is_null()) task[key] = value;
  }
  write_json_file(model / "task.json", task);
  return model;
}

// The same without a decoder, with a head on the mean of the encoder's output.
inline std::filesystem::path pooled_model_for_prediction(const TempFolder& folder,
                                                         const std::string& name) {
  const std::filesystem::path model = model_for_prediction(folder, name);
  Json config = read_json_file(model / "config.json");
  config["decoder_layers"] = 0;
  config["classes"] = 2;
  config["labels"] = {"yes", "no"};
  write_json_file(model / "config.json", config);
  const auto file = SafetensorsFile::open(model / "model.safetensors");
  std::map<std::string, TensorView> tensors = file->tensors();
  std::erase_if(tensors,
                [](const auto& each) { return each.first.starts_with("decoder.blocks."); });
  const std::vector<float> weight = {0.5, -1,  0.25, 2,  -0.5, 1,    -2, 0.75,
                                     -1,  0.5, 1,    -2, 0.25, -0.5, 2,  1};
  const std::vector<float> bias = {0.1F, -0.1F};
  tensors["classifier.weight"] = {TensorType::F32, {2, 8}, std::as_bytes(std::span(weight))};
  tensors["classifier.bias"] = {TensorType::F32, {2}, std::as_bytes(std::span(bias))};
  write_safetensors(model / "model.safetensors", tensors);
  return model;
}

}  // namespace convseq::testing
