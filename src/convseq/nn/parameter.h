#pragma once

#include <torch/types.h>

namespace convseq::nn {

// An uninitialised fp32 parameter, to be drawn or loaded later. It is on the CPU, or within a
// ShapesOnly scope on the meta device, where a tensor has a shape but no memory.
torch::Tensor empty_parameter(torch::IntArrayRef shape);

// During its lifetime, layers created by this thread have shapes but no memory, so that the
// parameters of models of any size can be counted. They can be neither drawn nor loaded.
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
