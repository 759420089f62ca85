#include "convseq/model/checkpoint.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <cmath>
#include <optional>

#include "convseq/answer/calibration.h"
#include "convseq/base/checksum.h"
#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/mapped_file.h"
#include "convseq/model/dequantize.h"

namespace convseq {
namespace fs = std::filesystem;

TensorMap parameters_of(const Seq2Seq& model) {
  TensorMap parameters;
  for (const auto& item : model.named_parameters()) parameters[item.key()] = item.value();
  return parameters;
}

TensorMap parameters_of(const ModelConfig& config) {
  TensorMap parameters;
  for (const auto& [name, shape] : parameter_shapes(config)) parameters[name] = shape;
  return parameters;
}

void check_parameters(const TensorMap& expected, const TensorMap& found,
                      const std::string& origin) {
  for (const auto& [name, parameter] : expected) {
    const auto match = found.find(name);
    require(match != found.end(), "{}: tensor {} is missing", origin, name);
    require(match->second.sizes() == parameter.sizes(),
            "{}: tensor {} has shape [{}]; the config wants [{}]", origin, name,
            fmt::join(match->second.sizes().vec(), ", "), fmt::join(parameter.sizes().vec(), ", "));
    require(match->second.is_floating_point(), "{}: tensor {} holds no floating-point numbers",
            origin, name);
  }
  for (const auto& [name, tensor] : found) {
    require(expected.contains(name), "{}: tensor {} is not part of the model", origin, name);
  }
}

void check_finite(const TensorMap& tensors, const std::string& origin) {
  const torch::NoGradGuard no_grad;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.is_floating_point() || tensor.numel() == 0) continue;
    const bool is_8_bit = tensor.element_size() == 1;
    const auto values = is_8_bit ? tensor.to(torch::kFloat32) : tensor.detach();
    const auto [least, most] = at::aminmax(values);  // NaN if any value is NaN; copies nothing
    if (std::isfinite(least.item<double>()) && std::isfinite(most.item<double>())) continue;
    fail("{}: tensor {} holds values that are not finite ({} of {}); use another copy of the file",
         origin, name, values.isfinite().logical_not().sum().item<int64_t>(), values.numel());
  }
}

namespace {

void copy_into(const TensorMap& parameters, const TensorMap& found, const std::string& origin) {
  check_parameters(parameters, found, origin);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, parameter] : parameters) {
    torch::Tensor(parameter).copy_(found.at(name));
  }
}

}  // namespace

void copy_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin) {
  copy_into(parameters_of(model), found, origin);
}

void load_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin) {
  check_finite(found, origin);
  copy_parameters(model, found, origin);
}

void load_shared_parameters(Seq2Seq& model, const TensorMap& found, const std::string& origin) {
  TensorMap wanted = parameters_of(model), given = found;
  std::erase_if(given, [&](const auto& each) {
    const bool unused = each.first.starts_with("decoder.") || each.first.starts_with("output.") ||
                        each.first.starts_with("classifier.");
    return unused && !wanted.contains(each.first);
  });
  std::erase_if(wanted, [&](const auto& each) {
    if (!each.first.starts_with("classifier.")) return false;
    const auto theirs = given.find(each.first);
    if (theirs != given.end() && theirs->second.sizes() == each.second.sizes()) return false;
    given.erase(each.first);
    return true;
  });
  check_finite(given, origin);
  copy_into(wanted, given, origin);
}

void write_model_files(const fs::path& folder, const ModelFolder& model) {
  write_json_file(folder / kConfigFile, model.config.to_json());
  const fs::path weights = folder / kWeightsFile, calibration = folder / kCalibrationFile;
  const auto checksum = [&] { return crc32_of(MappedFile(weights).bytes()); };
  std::optional<uint32_t> fitted_to;
  if (fs::exists(calibration) && fs::exists(weights)) fitted_to = checksum();
  // Hugging Face readers require the key "format".
  save_tensors(weights, {.tensors = model.weights, .metadata = {{"format", "pt"}}});
  if (!fitted_to || checksum() != *fitted_to) fs::remove(calibration);
  const ModelExtras& extras = model.extras;
  if (!extras.task.is_null()) write_json_file(folder / kTaskFile, extras.task);
  if (fs::is_regular_file(extras.tokenizer_from)) {
    write_file_atomically(folder / "spiece.model", read_text_file(extras.tokenizer_from));
    return;
  }
  if (extras.tokenizer_from.empty()) return;
  for (const char* name : {"spiece.model", "tokenizer_config.json"}) {
    if (fs::exists(extras.tokenizer_from / name)) {
      write_file_atomically(folder / name, read_text_file(extras.tokenizer_from / name));
    }
  }
}

void save_model_folder(const fs::path& folder, const ModelFolder& model) {
  write_folder_atomically(folder,
                          [&](const fs::path& inside) { write_model_files(inside, model); });
}

void save_model(const fs::path& folder, const Seq2Seq& model) {
  save_model_folder(folder,
                    {.config = model.config(), .weights = parameters_of(model), .extras = {}});
}

TensorMap load_weights(const fs::path& file) {
  TensorMap tensors = load_tensors(file).tensors;
  dequantize(tensors, file.string());
  return tensors;
}

std::shared_ptr<Seq2Seq> load_model(const fs::path& folder, torch::Dtype dtype) {
  require(fs::is_directory(folder), "{}: no such model folder", folder.string());
  auto model = std::make_shared<Seq2Seq>(ModelConfig::load(folder / kConfigFile));
  model->to(dtype);
  const fs::path weights = folder / kWeightsFile;
  load_parameters(*model, load_weights(weights), weights.string());
  model->eval();
  return model;
}

}  // namespace convseq
