#pragma once

#include "convseq/kernels/cpu/conv_pieces.h"

// Taps that differ by position: their softmax and its gradient. For files compiled once per
// CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

template <class T>
CONVSEQ_INLINE void widen(const T* from, int64_t count, float* to) {
  for_blocks(0, count, [&](auto width, int64_t i) {
    constexpr int W = decltype(width)::kValue;
    store<W>(to + i, load<W>(from + i));
  });
}

template <class T>
CONVSEQ_INLINE void narrow(const float* from, int64_t count, T* to) {
  for_blocks(0, count, [&](auto width, int64_t i) {
    constexpr int W = decltype(width)::kValue;
    store<W>(to + i, load<W>(from + i));
  });
}

// Softmax over each k of [H,k], in place.
inline void softmax(float* taps, int64_t heads, int64_t kernel) {
  for (float* head = taps; head != taps + heads * kernel; head += kernel) {
    float max_logit = head[0];
    for (int64_t j = 1; j < kernel; ++j) max_logit = larger(max_logit, head[j]);
    for (int64_t j = 0; j < kernel; ++j) head[j] -= max_logit;
  }
  for_vectors<kLockstep>(0, heads * kernel, [&](auto vectors, auto width, int64_t i) {
    constexpr int W = decltype(vectors)::kValue * decltype(width)::kValue;
    store<W>(taps + i, exp<W>(load<W>(taps + i)));
  });
  for (float* head = taps; head != taps + heads * kernel; head += kernel) {
    float sum = 0;
    for (int64_t j = 0; j < kernel; ++j) sum += head[j];
    const float scale = 1 / sum;
    for (int64_t j = 0; j < kernel; ++j) head[j] *= scale;
  }
}

// The gradient of the logits from that of their softmax, in place: w ⊙ (dw − Σ w dw).
inline void softmax_backward(const float* taps, int64_t heads, int64_t kernel, float* gradient) {
  for (int64_t head = 0; head < heads; ++head, taps += kernel, gradient += kernel) {
    float dot = 0;
    for (int64_t j = 0; j < kernel; ++j) dot += taps[j] * gradient[j];
    for (int64_t j = 0; j < kernel; ++j) gradient[j] = taps[j] * (gradient[j] - dot);
  }
}

// [H,k] of one position, as fp32 taps.
inline void read_taps(const ConvShape& shape, const DynamicTaps& taps, int64_t position,
                      float* to) {
  const int64_t count = shape.heads * shape.kernel;
  with_type(taps.type, [&](auto zero) {
    widen(row_of<decltype(zero)>(taps.values, position, stride_of(shape, taps)), count, to);
  });
  if (taps.softmax) softmax(to, shape.heads, shape.kernel);
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
