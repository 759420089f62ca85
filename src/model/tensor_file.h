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

// The tensors of a safetensors file, as views of the mapped file where they are aligned: read them
// or copy them, never write to them. The mapping lives as long as any of them.
TensorFile load_tensors(const std::filesystem::path& path);

// Tensors of any device and layout; written whole or not at all.
void save_tensors(const std::filesystem::path& path, const TensorFile& file);

}  // namespace convseq
