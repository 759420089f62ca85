#pragma once

#include <cstdint>

namespace convseq::ops {

enum class Alignment { Centred, Causal };

// Which positions the taps of a convolution read. Tap j = 0..k-1 of output i reads
// i - left + j * dilation; positions outside the sequence are zero.
struct ConvGeometry {
  int64_t kernel = 1;
  int64_t dilation = 1;
  Alignment alignment = Alignment::Centred;

  int64_t reach() const { return (kernel - 1) * dilation; }

  // The paper counts j from 1 and reads i + j - ceil((k+1)/2): k = 7 covers i-3..i+3, k = 4
  // i-2..i+1.
  int64_t left() const {
    return alignment == Alignment::Causal ? reach() : ((kernel + 2) / 2 - 1) * dilation;
  }
  int64_t right() const { return reach() - left(); }
};

}  // namespace convseq::ops
