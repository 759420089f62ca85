#include "convseq/nn/parameter.h"

#include <torch/types.h>

namespace convseq::nn {
namespace {

thread_local bool shapes_only = false;

}  // namespace

torch::Tensor empty_parameter(torch::IntArrayRef shape) {
  return torch::empty(
      shape, torch::TensorOptions(shapes_only ? torch::kMeta : torch::kCPU).dtype(torch::kFloat32));
}

ShapesOnly::ShapesOnly() : before_(shapes_only) { shapes_only = true; }
ShapesOnly::~ShapesOnly() { shapes_only = before_; }

}  // namespace convseq::nn
