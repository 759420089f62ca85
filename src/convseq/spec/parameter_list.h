#pragma once

#include <string>
#include <vector>

#include "convseq/base/safetensors/safetensors.h"
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

// The tensor with the scales of an int8 tensor: NAME.scale.
std::string scale_name(const std::string& name);

// Throws an Error that names the first tensor of a weights file that is missing, unknown, of
// another shape, or neither floating-point nor int8. The scales themselves are not checked.
void check_weights(const ModelConfig& config, const SafetensorsFile& file,
                   const std::string& origin);

}  // namespace convseq
