#pragma once

#include <filesystem>
#include <string>

#include "convseq/base/file/json_file.h"
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

}  // namespace convseq::testing
