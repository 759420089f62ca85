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

// The tensors of a safetensors file. Aligned ones are views of the mapped file: they may be read or
// copied, never written. The mapping lives as long as any of them.
TensorFile load_tensors(const std::filesystem::path& path);

// Tensors of any device and layout; written whole or not at all.
void save_tensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace convseq
