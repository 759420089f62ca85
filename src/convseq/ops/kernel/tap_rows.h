#pragma once

#include <torch/types.h>

// Taps [B,T,H,k] whose positions are rows of a matrix with a little padding between rows or none:
// the layout of a matmul whose output rows are aligned.
namespace convseq::ops {

// Values from one row to the next; 0 for taps with another layout.
inline int64_t tap_row_stride(const torch::Tensor& taps) {
  constexpr int64_t kMostPadding = 64;  // the gradient is allocated with as much
  const int64_t time = taps.size(1), kernel = taps.size(3), width = taps.size(2) * kernel;
  if (taps.is_contiguous()) return width;
  const int64_t stride = time > 1 ? taps.stride(1) : taps.stride(0);
  if (stride < width || stride > width + kMostPadding) return 0;
  const int64_t wanted[] = {time * stride, stride, kernel, 1};
  for (int64_t i = 0; i < 4; ++i) {
    if (taps.size(i) > 1 && taps.stride(i) != wanted[i]) return 0;
  }
  return stride;
}

// An uninitialised gradient of such taps, with their strides.
inline torch::Tensor empty_tap_rows(const torch::Tensor& taps) {
  const int64_t stride = tap_row_stride(taps);
  return torch::empty({taps.size(0), taps.size(1), stride}, taps.options())
      .narrow(2, 0, taps.size(2) * taps.size(3))
      .unflatten(2, {taps.size(2), taps.size(3)});
}

}  // namespace convseq::ops
