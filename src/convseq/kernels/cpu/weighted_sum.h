#pragma once

#include "convseq/kernels/cpu/conv_pieces.h"

// The sum of one position over its taps. For files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

inline constexpr int kVectors = 4;  // of channels per load of a tap

// The terms of one position's sum: rows of channels, and for each row its tap of head 0; the tap of
// the next head is k values further.
template <class T>
struct Terms {
  const T** rows;
  const float** taps;
  int64_t count;

  CONVSEQ_INLINE void add(const T* row, const float* tap) {
    rows[count] = row;
    taps[count++] = tap;
  }
};

// y[c] = Σ_n taps[n][c] · rows[n][c]: heads of one channel.
template <class T>
void weighted_sum_of_channels(const ConvShape& shape, const Terms<T>& terms, T* y) {
  for_blocks(0, shape.channels, [&](auto width, int64_t c) {
    constexpr int W = decltype(width)::kValue;
    Floats<W> sum = {};
    for (int64_t n = 0; n < terms.count; ++n) {
      const float* first = terms.taps[n] + c * shape.kernel;
      Floats<W> taps;
      for (int lane = 0; lane < W; ++lane) taps[lane] = first[lane * shape.kernel];
      sum += taps * load<W>(terms.rows[n] + c);
    }
    store<W>(y + c, sum);
  });
}

// y[c] = Σ_n taps[n][head of c] · rows[n][c]
template <class T>
void weighted_sum(const ConvShape& shape, const Terms<T>& terms, T* y) {
  const int64_t group = shape.channels / shape.heads;
  if (group == 1) return weighted_sum_of_channels(shape, terms, y);
  for (int64_t head = 0; head < shape.heads; ++head) {
    for_vectors<kVectors>(
        head * group, (head + 1) * group, [&](auto vectors, auto width, int64_t c) {
          constexpr int V = decltype(vectors)::kValue, W = decltype(width)::kValue;
          Floats<W> sum[V] = {};
          for (int64_t n = 0; n < terms.count; ++n) {
            const auto tap = broadcast<W>(terms.taps[n][head * shape.kernel]);
            for (int v = 0; v < V; ++v) sum[v] += tap * load<W>(terms.rows[n] + c + v * W);
          }
          for (int v = 0; v < V; ++v) store<W>(y + c + v * W, sum[v]);
        });
  }
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
