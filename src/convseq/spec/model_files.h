#pragma once

#include <array>

namespace convseq {

// A model folder in the Hugging Face layout: config.json and model.safetensors; spiece.model and
// tokenizer_config.json if it has a tokenizer; task.json if it was fine-tuned; calibration.json if
// thresholds or a temperature were fitted.
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kTaskFile = "task.json";

// The files that belong to a model besides its weights: a copy of the model takes them along.
inline constexpr auto kFilesBesideWeights = std::to_array<const char*>(
    {"config.json", "spiece.model", "tokenizer_config.json", kTaskFile, "calibration.json"});

}  // namespace convseq
