#pragma once

#include <filesystem>
#include <memory>

#include "convseq/model/seq2seq.h"
#include "convseq/model/tensor_file.h"

namespace convseq {

// A model folder in Hugging Face's layout: config.json and model.safetensors; spiece.model and
// tokenizer_config.json if it has a tokenizer; task.json if it was fine-tuned.
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kTaskFile = "task.json";

// What a model folder holds beside the model itself.
struct ModelExtras {
  std::filesystem::path tokenizer_from;  // a model folder or a spiece.model to copy
  Json task = nullptr;                   // task.json: what it was fine-tuned on; null: nothing
};

struct ModelFolder {
  ModelConfig config;
  TensorMap weights;  // by parameter name
  ModelExtras extras;
};

// The folder appears whole or not at all; an existing one is replaced in one step.
void save_model_folder(const std::filesystem::path& folder, const ModelFolder& model);
// Writes the same files, each in one step, into an existing folder that may hold others.
void write_model_files(const std::filesystem::path& folder, const ModelFolder& model);
void save_model(const std::filesystem::path& folder, const Seq2Seq& model);

// Refuses a folder whose tensors are not exactly the model's, naming the first that is missing, of
// another shape, unknown, or not finite.
std::shared_ptr<Seq2Seq> load_model(const std::filesystem::path& folder,
                                    torch::Dtype dtype = torch::kFloat32);

TensorMap parameters_of(const Seq2Seq& model);
TensorMap parameters_of(const ModelConfig& config);  // shapes without memory
void check_parameters(const TensorMap& expected, const TensorMap& found, const std::string& origin);
// Refuses weights that are infinite or not a number, by name and count.
void check_finite(const TensorMap& tensors, const std::string& origin);
// For a model with a classification head: loads all parameters that both have. Its classifier may
// be new, and the other's decoder unused; any other difference is refused.
void load_shared_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin);
void load_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin);
// The same for tensors that are known to be finite.
void copy_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin);

}  // namespace convseq
