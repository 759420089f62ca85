#include "convseq/runtime/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "convseq/base/file/atomic_file.h"
#include "convseq/base/file/json_file.h"
#include "convseq/runtime/weights/stored_weights.h"
#include "convseq/spec/model_files.h"
#include "convseq/spec/parameter_list.h"

namespace convseq {
namespace fs = std::filesystem;
namespace {

constexpr float kMostInt8 = 127;

// To nearest, ties to even. The value must be finite.
uint16_t bf16_of(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Tensors that own their bytes until they are written.
class QuantizedTensors {
 public:
  explicit QuantizedTensors(MatrixType type) : type_(type) {}

  void add(const std::string& name, const std::vector<int64_t>& shape,
           const std::vector<float>& values) {
    if (!is_quantized(name, shape)) {
      store(name, TensorType::F32, shape, values);
    } else if (type_ == MatrixType::Int8) {
      const Int8Matrix matrix = quantize_rows(values, shape[1]);
      store(name, TensorType::I8, shape, matrix.values);
      store(scale_name(name), TensorType::F32, {shape[0]}, matrix.scales);
    } else {
      std::vector<uint16_t> rounded(values.size());
      std::transform(values.begin(), values.end(), rounded.begin(), bf16_of);
      store(name, TensorType::BF16, shape, rounded);
    }
  }

  const std::map<std::string, TensorView>& views() const { return views_; }

 private:
  template <class T>
  void store(const std::string& name, TensorType type, const std::vector<int64_t>& shape,
             const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const auto& kept = bytes_[name] = {bytes.begin(), bytes.end()};
    views_[name] = {.type = type, .shape = shape, .bytes = kept};
  }

  MatrixType type_;
  std::map<std::string, std::vector<std::byte>> bytes_;
  std::map<std::string, TensorView> views_;
};

// Whether the last part of the name before ".weight" is `module`.
bool is_weight_of(std::string_view name, std::string_view module) {
  constexpr std::string_view kWeight = ".weight";
  if (!name.ends_with(kWeight)) return false;
  name.remove_suffix(kWeight.size());
  return name == module || (name.ends_with(module) && name[name.size() - module.size() - 1] == '.');
}

int64_t model_bytes(const fs::path& folder) {
  auto bytes = static_cast<int64_t>(fs::file_size(folder / kWeightsFile));
  for (const char* name : kFilesBesideWeights) {
    if (fs::exists(folder / name)) bytes += static_cast<int64_t>(fs::file_size(folder / name));
  }
  return bytes;
}

}  // namespace

Int8Matrix quantize_rows(std::span<const float> matrix, int64_t columns) {
  const size_t width = static_cast<size_t>(columns), rows = width == 0 ? 0 : matrix.size() / width;
  Int8Matrix result{.values = std::vector<int8_t>(matrix.size()),
                    .scales = std::vector<float>(rows)};
  for (size_t row = 0; row < rows; ++row) {
    const std::span<const float> values = matrix.subspan(row * width, width);
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::abs(value));
    const float scale = result.scales[row] = largest / kMostInt8;
    if (scale == 0) continue;  // all values are 0, or below what fp32 can scale
    for (size_t i = 0; i < width; ++i) {
      const float nearest = std::nearbyint(values[i] / scale);
      result.values[row * width + i] =
          static_cast<int8_t>(std::clamp(nearest, -kMostInt8, kMostInt8));
    }
  }
  return result;
}

bool is_quantized(const std::string& name, const std::vector<int64_t>& shape) {
  return shape.size() == 2 && name.ends_with(".weight") && !is_weight_of(name, "positions") &&
         !is_weight_of(name, "relative_bias") && !is_weight_of(name, "classifier");
}

QuantizedSize quantize_model(const fs::path& folder, const fs::path& out, MatrixType type,
                             const std::function<void()>& before_tensor) {
  const StoredWeights stored(folder);
  QuantizedTensors quantized(type);
  for (const auto& [name, shape] : list_parameters(stored.config())) {
    before_tensor();
    require(!stored.tensor(name).is_int8(),
            "{}: tensor {} is int8 already; quantize the model that this one was made from",
            (folder / kWeightsFile).string(), name);
    quantized.add(name, shape, stored.values(name));
  }
  std::map<std::string, std::string> metadata = stored.metadata();
  metadata["format"] = "pt";  // Hugging Face readers require this key
  metadata["matrices"] = name_of(type);
  write_folder_atomically(out, [&](const fs::path& inside) {
    write_safetensors(inside / kWeightsFile, quantized.views(), metadata);
    for (const char* name : kFilesBesideWeights) {
      if (!fs::exists(folder / name)) continue;
      write_file_atomically(inside / name, read_text_file(folder / name));
    }
  });
  return {.before = model_bytes(folder), .after = model_bytes(out)};
}

}  // namespace convseq
