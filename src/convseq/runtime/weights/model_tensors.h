#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "convseq/spec/model_config.h"

namespace convseq {

using TensorShapes = std::map<std::string, std::vector<int64_t>>;

// The names and shapes of the tensors in a model's weights file, by name.
TensorShapes model_tensors(const ModelConfig& config);

}  // namespace convseq
