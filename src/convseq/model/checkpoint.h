#pragma once

#include <filesystem>
#include <memory>

#include "convseq/model/seq2seq.h"
#include "convseq/model/tensor_file.h"
#include "convseq/spec/model_files.h"

namespace convseq {

// The contents of a model folder besides the model itself.
struct ModelExtras {
  std::filesystem::path tokenizer_from;  // model folder or spiece.model file to copy from
  Json task = nullptr;                   // task.json, the task it was fine-tuned on; null: none
};

struct ModelFolder {
  ModelConfig config;
  TensorMap weights;  // by parameter name
  ModelExtras extras;
};

// Writes the folder atomically and replaces an existing one.
void save_model_folder(const std::filesystem::path& folder, const ModelFolder& model);
// Writes the same files, each atomically, into an existing folder, which may hold other files.
void write_model_files(const std::filesystem::path& folder, const ModelFolder& model);
void save_model(const std::filesystem::path& folder, const Seq2Seq& model);

// The weights of a model folder by parameter name. A matrix in int8 (see runtime/quantize.h) is
// returned in fp32; an Error names one whose scales are missing or wrong.
TensorMap load_weights(const std::filesystem::path& file);

// Throws an Error that names the first tensor that is missing, unknown, of another shape, or not
// finite.
std::shared_ptr<Seq2Seq> load_model(const std::filesystem::path& folder,
                                    torch::Dtype dtype = torch::kFloat32);

TensorMap parameters_of(const Seq2Seq& model);
TensorMap parameters_of(const ModelConfig& config);  // shapes without memory
void check_parameters(const TensorMap& expected, const TensorMap& found, const std::string& origin);
// Throws an Error with the name of a tensor that holds NaN or infinity, and the number of such
// values.
void check_finite(const TensorMap& tensors, const std::string& origin);
// For fine-tuning: loads the parameters that both have. The classifier of the model may be new, and
// the decoder, output matrix and classifier in `found` may be unused. Any other difference is an
// Error.
void load_shared_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin);
void load_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin);
// The same without the check that all values are finite.
void copy_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin);

}  // namespace convseq
