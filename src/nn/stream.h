#pragma once

#include <torch/types.h>

#include <utility>

#include "convseq/ops/kernel/output_and_input.h"

namespace convseq::nn {

// Values that several layers read, such as the residual stream. Their gradients must be added up: a
// reader that can do so inside its own backward pass hands the values on, and the next one reads
// what it handed on. The values stay the same; any tensor is a stream with one reader.
class Stream {
 public:
  Stream(torch::Tensor values = {}) : values_(std::move(values)) {}
  operator const torch::Tensor&() const { return values_; }

  // read(values) gives ops::OutputAndInput.
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
