#pragma once

#include <torch/types.h>

#include <utility>

#include "convseq/ops/output_and_input.h"

namespace convseq::nn {

// Values that several layers read, such as the residual stream. The gradients of all readers must
// be added up. A reader that can add inside its own backward pass returns the values as a second
// output, and the next reader takes that output. The values stay the same; any tensor is a stream
// with one reader.
class Stream {
 public:
  Stream(torch::Tensor values = {}) : values_(std::move(values)) {}
  operator const torch::Tensor&() const { return values_; }

  // read(values) returns ops::OutputAndInput.
  template <class Read>
  torch::Tensor through(Read read) const {
    auto [output, input] = read(values_);
    values_ = std::move(input);
    return output;
  }

 private:
  mutable torch::Tensor values_;
};

}  // namespace convseq::nn
