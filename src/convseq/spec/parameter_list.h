#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "convseq/spec/model_config.h"

namespace convseq {

struct ParameterShape {
  std::string name;
  std::vector<int64_t> shape;

  int64_t count() const;
  bool operator==(const ParameterShape&) const = default;
};

// Every parameter of a model, in the order of its modules.
std::vector<ParameterShape> list_parameters(const ModelConfig& config);

// Throws an Error that names the first tensor of a weights file that is missing, unknown or of
// another shape. A quantised matrix NAME has its scales in NAME.scale.
void check_weights_file(const ModelConfig& config, const std::filesystem::path& weights);

}  // namespace convseq
