#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "convseq/base/file/mapped_file.h"
#include "convseq/base/safetensors/tensor_type.h"

namespace convseq {

// The elements of a tensor, row by row, little-endian. Bytes read from a file of another writer may
// stand at any address: copy them, or check their alignment.
struct TensorView {
  TensorType type{};
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// A safetensors file from anyone: whatever the reference reader refuses is refused, by an Error
// that names the file, the tensor, the value and what is allowed.
//
//   auto file = SafetensorsFile::open("model.safetensors");
//   const TensorView& weight = file->tensors().at("encoder.embedding.weight");
class SafetensorsFile {
 public:
  // Maps the file; the views hold as long as the result lives.
  static std::shared_ptr<const SafetensorsFile> open(const std::filesystem::path& path);
  // The same of bytes in memory, which must outlive the result; `origin` names them in errors.
  static SafetensorsFile parse(std::span<const std::byte> bytes, const std::string& origin);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  SafetensorsFile() = default;

  std::unique_ptr<const MappedFile> mapping_;  // none where the bytes are someone else's
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Writes the file whole or not at all, in the reference writer's order: the largest elements first,
// then by name, so that every tensor is aligned.
void write_safetensors(const std::filesystem::path& path,
                       const std::map<std::string, TensorView>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace convseq
