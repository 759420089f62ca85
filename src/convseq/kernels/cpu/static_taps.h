#pragma once

#include "convseq/kernels/cpu/conv_tile_loops.h"

// Static taps as the loops read them: packed. Where whole blocks of channels share their taps and
// an instruction multiplies by one lane of a register (NEON), that is [H,k]. Elsewhere they are
// expanded to the channels: the block of W channels that begins at channel c has its [k,W] floats
// at c · k. For files compiled once per CpuLevel.
namespace convseq::kernels::CONVSEQ_LEVEL {

#ifdef __aarch64__
inline constexpr int kSharedVectors = 4;  // vectors of channels in a block that shares its taps
#else
inline constexpr int kSharedVectors = 0;  // none
#endif
inline constexpr int kSharedTile = 4;  // outputs: sums of 4 × 4 vectors are half of the registers
inline constexpr int kSharedBlock = kSharedVectors * kLanes;

CONVSEQ_INLINE bool shares_taps(const ConvShape& shape) {
  if constexpr (kSharedBlock == 0) return false;
  return shape.channels / shape.heads % larger(1, kSharedBlock) == 0;
}

struct SharedTaps {
  const float* first;

  CONVSEQ_INLINE SharedTaps from(int64_t j, int /*width*/) const { return {first + j}; }
  template <int W>
  CONVSEQ_INLINE float at(int j) const {
    return first[j];
  }
};

// The J taps of one head, each in a register of its own. As lanes of fewer registers, which the
// compiler prefers, they are 3% slower on a Neoverse V1.
template <int J>
struct HeldTaps {
  Floats<kLanes> taps[J];

  explicit HeldTaps(const float* first) {
    unroll<J>([&](auto j) CONVSEQ_LAMBDA {
      taps[j.kValue] = opaque<kLanes>(broadcast<kLanes>(first[j.kValue]));
    });
  }
  CONVSEQ_INLINE const HeldTaps& from(int64_t /*j*/, int /*width*/) const { return *this; }
  template <int W>
  CONVSEQ_INLINE Floats<W> at(int j) const {
    return taps[j];
  }
};

struct ChannelTaps {
  const float* first;

  CONVSEQ_INLINE ChannelTaps from(int64_t j, int width) const { return {first + j * width}; }
  template <int W>
  CONVSEQ_INLINE Floats<W> at(int j) const {
    return load<W>(first + j * W);
  }
};

// f(number of taps) for shared taps: J where the kernel is unrolled as a whole, and 0 where it is
// computed in blocks of taps.
template <class F>
CONVSEQ_INLINE void with_tap_count(int64_t kernel, const F& f) {
  switch (kernel) {
    case 3:
      return f(Number<3>{});
    case 7:
      return f(Number<7>{});
    default:
      return f(Number<0>{});
  }
}

template <int J>
struct TapsOfHead {
  using Type = HeldTaps<J>;
};
template <>
struct TapsOfHead<0> {
  using Type = SharedTaps;
};

// f(number of vectors, width, first channel, taps) over all channels; V vectors at a time where
// their taps are shared. J as above.
template <bool kShared, int J, int V, class F>
CONVSEQ_INLINE void for_channels(const ConvShape& shape, const float* packed, const F& f) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  if constexpr (kShared) {
    for (int64_t head = 0; head < shape.heads; ++head) {
      const typename TapsOfHead<J>::Type taps{packed + head * k};
      for (int64_t c = head * group; c < (head + 1) * group; c += V * kLanes) {
        f(Number<V>{}, Number<kLanes>{}, c, taps);
      }
    }
  } else {
    for_blocks(0, shape.channels, [&](auto width, int64_t c) {
      f(Number<1>{}, width, c, ChannelTaps{packed + c * k});
    });
  }
}

inline void pack_taps(const ConvShape& shape, const float* taps, bool reversed, float* packed) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  if (shares_taps(shape)) {
    for (int64_t i = 0; i < shape.heads * k; ++i) {
      packed[i] = reversed ? taps[i / k * k + (k - 1 - i % k)] : taps[i];
    }
    return;
  }
  for_blocks(0, shape.channels, [&](auto width, int64_t channel) {
    constexpr int W = decltype(width)::kValue;
    for (int lane = 0; lane < W; ++lane) {
      const float* head = taps + (channel + lane) / group * k;
      float* to = packed + channel * k + lane;
      for (int64_t j = 0; j < k; ++j) to[j * W] = head[reversed ? k - 1 - j : j];
    }
  });
}

// Sums expanded and reversed [C,k] over the channels of each head, to [H,k].
inline void reduce_taps(const ConvShape& shape, const float* expanded, float* taps) {
  const int64_t k = shape.kernel, group = shape.channels / shape.heads;
  __builtin_memset(taps, 0, static_cast<size_t>(shape.heads * k) * sizeof(float));
  for_blocks(0, shape.channels, [&](auto width, int64_t channel) {
    constexpr int W = decltype(width)::kValue;
    float* head = taps + channel / group * k;
    const bool one_head = channel / group == (channel + W - 1) / group;
    for (int64_t j = 0; j < k; ++j) {
      const float* sums = expanded + channel * k + j * W;
      if (one_head) {
        head[k - 1 - j] += sum_of<W>(load<W>(sums));
      } else {
        for (int lane = 0; lane < W; ++lane) {
          taps[(channel + lane) / group * k + k - 1 - j] += sums[lane];
        }
      }
    }
  });
}

}  // namespace convseq::kernels::CONVSEQ_LEVEL
