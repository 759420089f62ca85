#pragma once

#include <torch/types.h>

namespace convseq::ops {

// How many positions of each row are real; the rest is padding. Masks come from here and never from
// token ids: id 0 is also the decoder's first input.
struct Lengths {
  torch::Tensor values;  // [B] int64; undefined: every row is full

  bool all_full() const { return !values.defined(); }

  torch::Tensor mask(int64_t time) const {  // [B,T] bool, true where real
    const auto positions = torch::arange(time, values.options());
    return positions.unsqueeze(0) < values.unsqueeze(1);
  }
};

}  // namespace convseq::ops
