#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "convseq/base/random.h"
#include "convseq/base/safetensors/safetensors.h"
#include "convseq/runtime/engine.h"
#include "convseq/spec/parameter_list.h"

namespace convseq::testing {

// The tensors of a weights file, to be changed and written.
class WeightsFile {
 public:
  struct Tensor {
    TensorType type{};
    std::vector<int64_t> shape;
    std::vector<std::byte> bytes;
  };

  template <class T>
  void set(const std::string& name, TensorType type, std::vector<int64_t> shape,
           const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    tensors[name] = {type, std::move(shape), {bytes.begin(), bytes.end()}};
  }

  void write(const std::filesystem::path& folder, const ModelConfig& config) const {
    std::map<std::string, TensorView> views;
    for (const auto& [name, each] : tensors) views[name] = {each.type, each.shape, each.bytes};
    std::filesystem::create_directories(folder);
    write_json_file(folder / kConfigFile, config.to_json());
    write_safetensors(folder / "model.safetensors", views, metadata);
  }

  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Random weights of a size that keeps the activations' variance: norms and biases vary too. Int8
// and bf16 are the types of the matrices; all other tensors are fp32.
inline WeightsFile random_weights(const ModelConfig& config, TensorType type = TensorType::F32,
                                  uint64_t seed = 3) {
  Random random(seed);
  WeightsFile file;
  std::vector<ParameterShape> parameters = list_parameters(config);
  std::ranges::sort(parameters, {}, &ParameterShape::name);  // the order of the file
  for (const auto& [name, shape] : parameters) {
    int64_t count = 1;
    for (const int64_t size : shape) count *= size;
    const bool is_matrix = shape.size() == 2 && name.ends_with(".weight");
    const bool is_norm_weight = shape.size() == 1 && name.ends_with(".weight");
    const double deviation = is_matrix        ? 1 / std::sqrt(static_cast<double>(shape[1]))
                             : is_norm_weight ? 0.2
                                              : 0.5;
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(deviation * random.normal() + (is_norm_weight ? 1 : 0)));
    }
    if (!is_matrix || type == TensorType::F32) {
      file.set(name, TensorType::F32, shape, values);
    } else if (type == TensorType::BF16) {
      std::vector<uint16_t> bits;
      for (const float each : values) {
        bits.push_back(static_cast<uint16_t>(std::bit_cast<uint32_t>(each) >> 16));
      }
      file.set(name, type, shape, bits);
    } else {
      std::vector<int8_t> integers;
      std::vector<float> scales;
      for (auto row = values.begin(); row != values.end(); row += shape[1]) {
        float most = 0;
        for (auto each = row; each != row + shape[1]; ++each) {
          most = std::max(most, std::abs(*each));
        }
        scales.push_back(most / 127);
        for (auto each = row; each != row + shape[1]; ++each) {
          integers.push_back(static_cast<int8_t>(std::lrint(*each / scales.back())));
        }
      }
      file.set(name, TensorType::I8, shape, integers);
      file.set(name + ".scale", TensorType::F32, {shape[0]}, scales);
    }
  }
  return file;
}

inline std::vector<TokenIds> random_sources(const std::vector<int64_t>& lengths, uint64_t seed = 5,
                                            uint64_t vocabulary = 19) {
  Random random(seed);
  std::vector<TokenIds> sources;
  for (const int64_t length : lengths) {
    sources.emplace_back();
    for (int64_t i = 0; i < length; ++i) {
      sources.back().push_back(static_cast<int32_t>(random.below(vocabulary)));
    }
  }
  return sources;
}

}  // namespace convseq::testing
