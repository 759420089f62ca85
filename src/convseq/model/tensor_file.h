#pragma once

#include <torch/types.h>

#include <filesystem>
#include <map>
#include <string>

namespace convseq {

using TensorMap = std::map<std::string, torch::Tensor>;

struct TensorFile {
  TensorMap tensors;
  std::map<std::string, std::string> metadata;
};

// The tensors of a safetensors file. Aligned ones are read-only views of the mapped file and keep
// the mapping alive.
TensorFile load_tensors(const std::filesystem::path& path);

// Writes tensors of any device and layout atomically.
void save_tensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace convseq
