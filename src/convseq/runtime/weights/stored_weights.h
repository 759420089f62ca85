#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "convseq/base/safetensors/safetensors.h"
#include "convseq/spec/model_config.h"

namespace convseq {

// One tensor of a weights file. An int8 tensor has one scale per row: value = scale · integer.
struct StoredTensor {
  std::string name;
  TensorView view;
  std::vector<float> scales;  // int8 only

  int64_t rows() const { return view.shape.empty() ? 1 : view.shape.front(); }
  int64_t row_values() const;
  bool is_int8() const { return view.type == TensorType::I8; }
  // The values of row `row` in fp32.
  void copy_row(int64_t row, float* to) const;
};

// The config and the weights of a model folder, checked against each other. The weights are mapped
// from the file: fp32, bf16, fp16 or fp64, or int8 with a tensor NAME.scale for each tensor NAME.
class StoredWeights {
 public:
  explicit StoredWeights(const std::filesystem::path& folder);

  const ModelConfig& config() const { return config_; }
  const std::map<std::string, std::string>& metadata() const { return file_->metadata(); }
  StoredTensor tensor(const std::string& name) const;
  // The same in fp32. Refuses values that are not finite.
  std::vector<float> values(const std::string& name) const;
  // Differs between weights files with different contents; it does not read them completely.
  std::string fingerprint() const;
  // The mapping shows what another program writes into the file, as cp does, but not files that
  // replace it. Throws an Error if it was written to since it was opened.
  void require_unchanged() const;

 private:
  // Of the file, when it was opened.
  struct Stamp {
    uint64_t inode = 0;
    int64_t bytes = 0, seconds = 0, nanoseconds = 0;
    bool operator==(const Stamp&) const = default;
  };
  static std::optional<Stamp> stamp_of(const std::filesystem::path& file);
  void check() const;
  void check_finite(const StoredTensor& tensor, const std::vector<float>& values) const;

  ModelConfig config_;
  std::filesystem::path path_;
  std::optional<Stamp> stamp_;
  std::shared_ptr<const SafetensorsFile> file_;
};

}  // namespace convseq
