#pragma once

#include "convseq/kernels/cpu/conv_pieces.h"

// The unit of work of static taps is a tile: R outputs, `dilation` apart, times a few vectors of
// channels. Together they read k + R − 1 rows. For files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

// f(size, t, base) for tiles of `size` = R or 1 steps t, t + dilation, ... that cover [begin, end),
// nearby steps soon after one another: `dilation` tiles cover a block of steps from `base` on.
template <int R, class F>
CONVSEQ_INLINE void for_tiles(int64_t begin, int64_t end, int64_t dilation, const F& f) {
  for (int64_t base = begin; base < end; base += R * dilation) {
    for (int64_t first = base; first < smaller(base + dilation, end); ++first) {
      if (first + (R - 1) * dilation < end) {
        f(Number<R>{}, first, base);
      } else {
        for (int64_t t = first; t < end; t += dilation) f(Number<1>{}, t, base);
      }
    }
  }
}

// f(number of taps, first tap) for blocks of B or fewer that cover all k taps; the compiler unrolls
// each.
template <int B, class F>
CONVSEQ_INLINE void for_tap_blocks(int64_t kernel, const F& f) {
  int64_t j = 0;
  for (; j + B <= kernel; j += B) f(Number<B>{}, j);
  unroll<B>([&](auto rest) CONVSEQ_LAMBDA {
    if constexpr (rest.kValue > 0) {
      if (kernel - j == rest.kValue) f(rest, j);
    }
  });
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

// The hardware prefetchers of Arm cores follow the rows by themselves.
#ifdef __aarch64__
inline constexpr bool kPrefetches = false;
#else
inline constexpr bool kPrefetches = true;
#endif

// Prefetches the rows that the next tile reads first: hardware prefetchers do not cross pages.
template <int R, class T>
CONVSEQ_INLINE void prefetch_next(const T* const* rows, int64_t channel, int64_t stride) {
  unroll<R>([&](auto r)
                CONVSEQ_LAMBDA { __builtin_prefetch(rows[r.kValue] + channel + R * stride); });
}

// The same for rows that are `stride` apart.
template <int R, class T>
CONVSEQ_INLINE void prefetch_next(const T* first, int64_t stride) {
  unroll<R>([&](auto r) CONVSEQ_LAMBDA { __builtin_prefetch(first + (R + r.kValue) * stride); });
}

// Prefetches cache lines that will be stored soon, in parts.
template <int R, class T>
CONVSEQ_INLINE void prefetch_for_store(const T* first, int64_t stride) {
  constexpr int kAhead = 1024 / sizeof(T);
  unroll<R>([&](auto r) CONVSEQ_LAMBDA {
    __builtin_prefetch(first + r.kValue * stride + kAhead, /*for writing*/ 1);
  });
}

// Prefetches N values into the second-level cache.
template <int N, class T>
CONVSEQ_INLINE void prefetch_values(const T* first) {
  constexpr int kLength = kLine / sizeof(T);
  unroll<N / kLength>([&](auto i) CONVSEQ_LAMBDA {
    __builtin_prefetch(first + i.kValue * kLength, /*for writing*/ 0, /*locality=*/2);
  });
}

// Zeroes the cache lines of N values, which are not read from memory for it.
template <int N, class T>
CONVSEQ_INLINE void zero_lines([[maybe_unused]] T* first) {
  constexpr int kLength = kLine / sizeof(T);
  for (int i = 0; i < N; i += kLength) {
#ifdef __aarch64__
    asm volatile("dc zva, %0" : : "r"(first + i) : "memory");
#endif
  }
}

// Whether zero_lines() may be used: whether the CPU's instruction is permitted and zeroes kLine
// bytes.
CONVSEQ_INLINE bool can_zero_lines() {
#ifdef __aarch64__
  uint64_t id = 0;
  asm("mrs %0, dczid_el0" : "=r"(id));
  return (id & 31) == 4;  // 2^4 words
#else
  return false;
#endif
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
