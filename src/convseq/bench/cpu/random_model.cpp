#include "convseq/bench/cpu/random_model.h"

#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "convseq/base/error.h"
#include "convseq/base/file/json_file.h"
#include "convseq/base/random.h"
#include "convseq/base/safetensors/safetensors.h"
#include "convseq/spec/model_files.h"

namespace convseq::bench {
namespace fs = std::filesystem;
namespace {

int64_t size_of(const std::vector<int64_t>& shape) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  return size;
}

// Norms begin as the identity; all other tensors are uniform with variance 1 / (row length).
std::vector<float> random_values(const std::string& name, const std::vector<int64_t>& shape,
                                 Random& random) {
  std::vector<float> values(static_cast<size_t>(size_of(shape)));
  if (shape.size() == 1) {
    std::fill(values.begin(), values.end(), name.ends_with(".weight") ? 1.0F : 0.0F);
    return values;
  }
  const float range = std::sqrt(3.0F / static_cast<float>(shape.back()));
  for (float& value : values) {
    const auto bits = static_cast<int32_t>(random.bits32());
    value = range * std::ldexp(static_cast<float>(bits), -31);
  }
  return values;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "convseq-bench-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw Error("cannot make a temporary folder", Error::Cause::Failure, pattern);
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

void write_random_model(const fs::path& folder, const ModelConfig& config,
                        const ParameterShapes& shapes) {
  Random random(1);
  std::map<std::string, std::vector<float>> values;
  std::map<std::string, TensorView> views;
  for (const auto& [name, shape] : shapes) {
    const auto& kept = values[name] = random_values(name, shape, random);
    views[name] = {
        .type = TensorType::F32, .shape = shape, .bytes = std::as_bytes(std::span(kept))};
  }
  write_json_file(folder / kConfigFile, config.to_json());
  write_safetensors(folder / kWeightsFile, views, {{"format", "pt"}});
}

}  // namespace convseq::bench
