#pragma once

#include <torch/types.h>

namespace convseq::nn {

// A parameter without values, which are drawn or loaded later: fp32 on the CPU, or within a
// ShapesOnly scope on the meta device, where a tensor has a shape and no memory.
torch::Tensor empty_parameter(torch::IntArrayRef shape);

// While it lives, the layers that this thread makes have shapes and no memory, so that models of
// any size can be counted. Their parameters can neither be drawn nor loaded.
class ShapesOnly {
 public:
  ShapesOnly();
  ~ShapesOnly();
  ShapesOnly(const ShapesOnly&) = delete;
  ShapesOnly& operator=(const ShapesOnly&) = delete;

 private:
  bool before_;
};

}  // namespace convseq::nn
