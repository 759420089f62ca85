#pragma once

#include <torch/types.h>

#include <utility>

#include "convseq/ops/output_and_input.h"

namespace convseq::nn {

// A tensor that several layers read, such as the residual stream. Its gradient is the sum over all
// readers. A reader that can accumulate inside its own backward pass returns the values, unchanged,
// as a second output, which the next reader takes as its input. Any tensor is a stream with one
// reader.
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
