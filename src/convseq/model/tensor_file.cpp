#include "convseq/model/tensor_file.h"

#include <torch/types.h>

#include <array>
#include <cstring>

#include "convseq/base/safetensors/safetensors.h"

namespace convseq {
namespace {

constexpr auto kTypes =
    std::to_array<std::pair<TensorType, torch::Dtype>>({{TensorType::Bool, torch::kBool},
                                                        {TensorType::U8, torch::kUInt8},
                                                        {TensorType::I8, torch::kInt8},
                                                        {TensorType::I16, torch::kInt16},
                                                        {TensorType::U16, torch::kUInt16},
                                                        {TensorType::I32, torch::kInt32},
                                                        {TensorType::U32, torch::kUInt32},
                                                        {TensorType::I64, torch::kInt64},
                                                        {TensorType::U64, torch::kUInt64},
                                                        {TensorType::F16, torch::kFloat16},
                                                        {TensorType::BF16, torch::kBFloat16},
                                                        {TensorType::F32, torch::kFloat32},
                                                        {TensorType::F64, torch::kFloat64},
                                                        {TensorType::F8E4M3, torch::kFloat8_e4m3fn},
                                                        {TensorType::F8E5M2, torch::kFloat8_e5m2}});

torch::Dtype to_torch(TensorType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  TORCH_CHECK(false, "no torch type for ", name_of(type));
}

TensorType from_torch(torch::Dtype type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (theirs == type) return ours;
  }
  TORCH_CHECK(false, "safetensors has no type for ", type);
}

torch::Tensor tensor_of(const TensorView& view,
                        const std::shared_ptr<const SafetensorsFile>& file) {
  const auto options = torch::TensorOptions(to_torch(view.type));
  // The views are read-only by contract, but from_blob takes no const pointer.
  void* data = const_cast<std::byte*>(view.bytes.data());
  if (view.bytes.empty()) return torch::empty(view.shape, options);
  const auto alignment = static_cast<uintptr_t>(byte_size(view.type));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    auto copy = torch::empty(view.shape, options);
    std::memcpy(copy.data_ptr(), data, view.bytes.size());
    return copy;
  }
  return torch::from_blob(
      data, view.shape, [file](void*) {}, options);
}

}  // namespace

TensorFile load_tensors(const std::filesystem::path& path) {
  const auto file = SafetensorsFile::open(path);
  TensorFile result{.tensors = {}, .metadata = file->metadata()};
  for (const auto& [name, view] : file->tensors()) result.tensors[name] = tensor_of(view, file);
  return result;
}

void save_tensors(const std::filesystem::path& path, const TensorFile& file) {
  TensorMap dense;  // keeps the copies alive until they are written
  std::map<std::string, TensorView> views;
  for (const auto& [name, tensor] : file.tensors) {
    const auto& kept = dense[name] = tensor.detach().cpu().contiguous();
    views[name] = {.type = from_torch(kept.scalar_type()),
                   .shape = kept.sizes().vec(),
                   .bytes = {static_cast<const std::byte*>(kept.data_ptr()), kept.nbytes()}};
  }
  write_safetensors(path, views, file.metadata);
}

}  // namespace convseq
