#include "convseq/runtime/weights/model_tensors.h"

#include "convseq/spec/parameter_list.h"

namespace convseq {

TensorShapes model_tensors(const ModelConfig& config) {
  TensorShapes shapes;
  for (ParameterShape& each : list_parameters(config)) {
    shapes.emplace(std::move(each.name), std::move(each.shape));
  }
  return shapes;
}

}  // namespace convseq
