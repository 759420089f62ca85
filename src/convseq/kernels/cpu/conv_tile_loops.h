#pragma once

#include "convseq/kernels/cpu/conv_rows.h"

// The unit of work of static taps is a tile: kTile outputs, `dilation` apart, times one vector of
// channels. Together they read k + kTile − 1 rows. For files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

constexpr int kTapBlock = kLanes == 8 ? 4 : 8;  // taps in registers; AVX2 has only 16 registers

// f(size, t) for tiles of `size` steps t, t + dilation, ... that cover [begin, end), nearby steps
// soon after one another.
template <class F>
CONVSEQ_INLINE void for_tiles(int64_t begin, int64_t end, int64_t dilation, const F& f) {
  for (int64_t base = begin; base < end; base += kTile * dilation) {
    for (int64_t first = base; first < smaller(base + dilation, end); ++first) {
      if (first + (kTile - 1) * dilation < end) {
        f(Number<kTile>{}, first);
      } else {
        for (int64_t t = first; t < end; t += dilation) f(Number<1>{}, t);
      }
    }
  }
}

// f(number of taps, first tap) for blocks that cover all k taps; the compiler unrolls each.
template <class F>
CONVSEQ_INLINE void for_tap_blocks(int64_t kernel, const F& f) {
  int64_t j = 0;
  for (; j + kTapBlock <= kernel; j += kTapBlock) f(Number<kTapBlock>{}, j);
  switch (kernel - j) {
    case 1:
      return f(Number<1>{}, j);
    case 2:
      return f(Number<2>{}, j);
    case 3:
      return f(Number<3>{}, j);
    case 4:
      return f(Number<4>{}, j);
    case 5:
      return f(Number<5>{}, j);
    case 6:
      return f(Number<6>{}, j);
    case 7:
      return f(Number<7>{}, j);
    default:
      return;
  }
}

// Only whole tiles of whole vectors are worth many variants; the rest is computed tap by tap.
template <int R, int W, class F>
CONVSEQ_INLINE void for_taps(int64_t kernel, const F& f) {
  if constexpr (R == kTile && W == kLanes) {
    for_tap_blocks(kernel, f);
  } else {
    for (int64_t j = 0; j < kernel; ++j) f(Number<1>{}, j);
  }
}

// f(j, r) for the taps j and outputs r = q − j that read row q of a tile's rows.
template <int R, int J, int Q, class F>
CONVSEQ_INLINE void for_readers(const F& f) {
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    constexpr int j = Q - decltype(r)::kValue;
    if constexpr (j >= 0 && j < J) f(Number<j>{}, r);
  });
}

// GCC 12 compiles `= {}` to `rep stos`, which puts the sums in memory.
template <int R, class Vector>
CONVSEQ_INLINE void set_zero(Vector (&sum)[R]) {
  for (int r = 0; r < R; ++r) sum[r] = Vector{};
}

// Prefetches the rows that the next tile reads first: hardware prefetchers do not cross pages.
template <class T>
CONVSEQ_INLINE void prefetch_next(const T* const* rows, int64_t channel, int64_t stride) {
  unroll<kTile>([&](auto r) CONVSEQ_LAMBDA {
    __builtin_prefetch(rows[r.kValue] + channel + kTile * stride);
  });
}

// The same for rows that are `stride` apart.
template <class T>
CONVSEQ_INLINE void prefetch_next(const T* first, int64_t stride) {
  unroll<kTile>([&](auto r)
                    CONVSEQ_LAMBDA { __builtin_prefetch(first + (kTile + r.kValue) * stride); });
}

// Prefetches cache lines that will be stored soon.
template <class T>
CONVSEQ_INLINE void prefetch_for_store(const T* first, int64_t stride) {
  constexpr int kAhead = 1024 / sizeof(T);
  unroll<kTile>([&](auto r) CONVSEQ_LAMBDA {
    __builtin_prefetch(first + r.kValue * stride + kAhead, /*for writing*/ 1);
  });
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
