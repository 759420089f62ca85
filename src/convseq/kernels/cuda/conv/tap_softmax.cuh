#pragma once

#include "convseq/kernels/cuda/common.cuh"

namespace convseq::kernels {

// The softmax of logits is exp(x − max_logit) · scale.
struct TapScale {
  float max_logit = 0;
  float scale = 1;
};

template <class Tap>
__device__ TapScale tap_scale(const Tap* logits, int kernel) {
  float max_logit = to_float(logits[0]);
  for (int j = 1; j < kernel; ++j) max_logit = fmaxf(max_logit, to_float(logits[j]));
  float sum = 0;
  for (int j = 0; j < kernel; ++j) sum += __expf(to_float(logits[j]) - max_logit);
  return {max_logit, 1.f / sum};
}

// The taps of one head at one position.
template <class Tap>
struct TapSet {
  const Tap* values;
  bool softmax;
  TapScale scale;

  __device__ TapSet(const Tap* from, int kernel, bool take_softmax)
      : values(from), softmax(take_softmax) {
    if (softmax) scale = tap_scale(values, kernel);
  }
  __device__ TapSet(const Tap* from, bool take_softmax, TapScale known)
      : values(from), softmax(take_softmax), scale(known) {}

  __device__ float at(int j) const {
    const float value = to_float(values[j]);
    return softmax ? __expf(value - scale.max_logit) * scale.scale : value;
  }
};

}  // namespace convseq::kernels
