#pragma once

#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_band.cuh"
#include "convseq/kernels/cuda/small_exp.cuh"

// The taps of dynamic convolutions on the tensor cores: a warp brings those of its 16 positions
// from rows of global memory, takes their softmax, and back.
namespace convseq::kernels {

// A pointer to global memory as it is: what follows adds to it, not to what it was made of.
template <class T>
__device__ void hold(T*& pointer) {
  size_t global = __cvta_generic_to_global(pointer);
  asm("" : "+l"(global));
  pointer = static_cast<T*>(__cvta_global_to_generic(global));
}

// How the taps are given.
struct TapForm {
  int stride;  // from one position to the next
  bool softmax;
};

inline TapForm form_of(const ConvShape& shape, const DynamicTaps& taps) {
  return {static_cast<int>(stride_of(shape, taps)), taps.softmax};
}

// The taps of one head in one sequence.
template <class Tap>
struct TapRows {
  const Tap* start;
  int pitch;
  int time;

  __device__ TapRows(const BandShape& shape, const BandPlace& place, const Tap* values, int stride)
      : start(values + int64_t{place.batch} * shape.time * stride + place.strip * shape.kernel),
        pitch(stride),
        time(shape.time) {}

  __device__ bool exists(int position) const {
    return static_cast<unsigned>(position) < static_cast<unsigned>(time);
  }
};

// The taps of 16 positions, one set of K after the other in memory: which of them a lane brings or
// takes. Neighbouring lanes hold neighbours; sets are spread to a power of two.
template <int K>
struct TapLane {
  static constexpr int kWidth = K <= 4 ? 4 : K <= 8 ? 8 : K <= 16 ? 16 : 32;
  static constexpr int kRowsAtOnce = kLanes / kWidth;
  static constexpr int kCount = kBandTile / kRowsAtOnce;
  int tap = threadIdx.x % kWidth;
  int first_row = threadIdx.x % kLanes / kWidth;

  __device__ bool holds() const { return tap < K; }
  __device__ int row(int i) const { return first_row + i * kRowsAtOnce; }
};

// The taps of 16 positions in the registers of a warp.
template <class Tap, int K>
struct WarpTaps {
  Tap values[TapLane<K>::kCount];

  // `missing` stands for what is not there.
  __device__ void load(const TapRows<Tap>& rows, int first, Tap missing = from_float<Tap>(0.f)) {
    const TapLane<K> lane;
    const Tap* from = rows.start + int64_t{first + lane.first_row} * rows.pitch + lane.tap;
    const int64_t step = int64_t{TapLane<K>::kRowsAtOnce} * rows.pitch;
    hold(from);
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i, from += step) {
      values[i] = missing;
      if (lane.holds() && rows.exists(first + lane.row(i))) values[i] = *from;
    }
  }

  // Row r's K taps to to(r), in fp32.
  template <class To>
  __device__ void store(To to) const {
    const TapLane<K> lane;
    if (!lane.holds()) return;
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i) to(lane.row(i))[lane.tap] = to_float(values[i]);
  }
};

// In place, two lanes of a warp together: each every other tap.
template <int K>
__device__ void softmax_row(float* taps, bool real) {
  const int part = threadIdx.x % 2;
  float values[(K + 1) / 2];
  float most = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) {
    values[i] = part + 2 * i < K ? taps[part + 2 * i] : -INFINITY;
    most = fmaxf(most, values[i]);
  }
  most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) sum += values[i] = small_exp(values[i] - most);
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  const float scale = 1.f / sum;
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) {
    if (real && part + 2 * i < K) taps[part + 2 * i] = values[i] * scale;
  }
}

// In place, of a row whose values two neighbouring lanes hold.
template <int N>
__device__ void softmax_of_two_lanes(float (&values)[N]) {
  float most = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) most = fmaxf(most, values[i]);
  most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
#pragma unroll
  for (int i = 0; i < N; ++i) sum += values[i] = small_exp(values[i] - most);
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  const float scale = __fdividef(1.f, sum);  // the sum is 1 to 2 N
#pragma unroll
  for (int i = 0; i < N; ++i) values[i] *= scale;
}

// Given taps or logits of a warp's 16 positions to taps in shared memory.
template <int K, class Tap, class To>
__device__ void put_taps(const WarpTaps<Tap, K>& given, const TapRows<Tap>& rows, int first,
                         bool take_softmax, To to) {
  given.store(to);
  __syncwarp();
  const int row = threadIdx.x % kLanes / 2;
  if (take_softmax) softmax_row<K>(to(row), rows.exists(first + row));
  __syncwarp();
}

// The taps of the positions in a ring, each split into two bf16 numbers, in shared memory. Row s is
// shifted by s mod 8: its tap j lies in column kFirst + s mod 8 + j, all else is 0. The taps along
// a diagonal are then those of one column, and eight neighbours of a product begin a whole piece of
// 16 bytes: a band of taps is loaded as matrices are.
template <int K>
struct SplitTaps {
  static constexpr int kBlocks = band_blocks(K);
  static constexpr int kRows = (kBlocks - 1 + kBandWarps) * kBandTile;
  static constexpr int kFirst = (16 - (K - 1) % 8) % 8;
  static constexpr int kColumns = kFirst + 7 + K;
  static constexpr int kPitch = kColumns / 8 % 2 ? kColumns : kColumns + 8;  // odd: no bank twice
  static constexpr int kValues = kRows * kPitch + 8;                         // the last are zeros
  static constexpr int kBytes = 2 * kValues * sizeof(bf16);
  static constexpr int kSpread = TapLane<K>::kWidth;
  static_assert(kColumns % 8 == 0 && kRows % 8 == 0 && kBytes % 16 == 0);
  bf16* high;  // the low parts follow

  __device__ static int ring_row(int row) { return row >= kRows ? row - kRows : row; }

  __device__ void clear() const {
    for (int i = threadIdx.x; i < kBytes / 16; i += kBandThreads) {
      reinterpret_cast<uint4*>(high)[i] = uint4{0, 0, 0, 0};
    }
  }

  __device__ const bf16* piece(int row, int column) const {
    const bool holds = static_cast<unsigned>(column) < static_cast<unsigned>(kColumns);
    return high + (holds ? row * kPitch + column : kRows * kPitch);
  }

  // Row r, column q of the band: tap K − 1 − (q − r) of ring row first + q.
  __device__ void load_band(int first, BandTaps<kBlocks>& band) const {
    const int matrix = threadIdx.x % kLanes / 8;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const int eight = b * 2 + matrix / 2;
      const bf16* from = piece(ring_row(first + eight * 8 + threadIdx.x % 8),
                               kFirst + K - 1 - (eight - matrix % 2) * 8);
      load_matrices_transposed(band.high[b], from);
      load_matrices_transposed(band.low[b], from + kValues);
    }
  }

  // Row r, column q: tap q − before − r of ring row first + r, which begins a piece. As entries of
  // BandProducts.
  __device__ void load_rows(int first, int before, float (&taps)[kBlocks][2][4]) const {
    const int matrix = threadIdx.x % kLanes / 8;
    const int r = matrix % 2 * 8 + threadIdx.x % 8;
    const int row = ring_row(first + r);
    const int begin = kFirst + row % 8 - before - r + matrix / 2 * 8;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const bf16* from = piece(row, begin + b * kBandTile);
      unsigned highs[4], lows[4];
      load_matrices(highs, from);
      load_matrices(lows, from + kValues);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 more = unpack_pair(highs[i]), less = unpack_pair(lows[i]);
        taps[b][i / 2][i % 2 * 2] = more.x + less.x;
        taps[b][i / 2][i % 2 * 2 + 1] = more.y + less.y;
      }
    }
  }

  // Given taps, or the softmax of logits, of a warp's 16 positions to ring rows `first` …; `stage`
  // holds 16 · kSpread values.
  template <class Tap>
  __device__ void put(const WarpTaps<Tap, K>& given, bool take_softmax, int first,
                      Tap* stage) const {
    constexpr int kPart = kSpread / 2;
    const TapLane<K> lane;
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i) {
      stage[lane.row(i) * kSpread + lane.tap] = given.values[i];
    }
    __syncwarp();
    const int row = threadIdx.x % kLanes / 2, part = threadIdx.x % 2;  // two lanes share a row
    float values[kPart];
    load_values<Tap, kPart>(stage + row * kSpread + part * kPart, values);
    if (take_softmax) softmax_of_two_lanes(values);
    unsigned highs[kPart / 2], lows[kPart / 2];
#pragma unroll
    for (int i = 0; i < kPart / 2; ++i) {
      highs[i] = pack_pair(values[2 * i], values[2 * i + 1]);
      const float2 rounded = unpack_pair(highs[i]);
      lows[i] = pack_pair(values[2 * i] - rounded.x, values[2 * i + 1] - rounded.y);
    }
    bf16* to = high + (first + row) * kPitch + kFirst + row % 8 + part * kPart;
    store_shifted(highs, row % 2, part, to);
    store_shifted(lows, row % 2, part, to + kValues);
  }

  // Pairs of values to where whole words begin: one on where `odd`, the last with the neighbour's.
  template <int kPairs>
  __device__ static void store_shifted(const unsigned (&pairs)[kPairs], int odd, int part,
                                       bf16* to) {
    const unsigned next = __shfl_down_sync(kAllLanes, pairs[0], 1);
    const unsigned select = odd ? 0x5432 : 0x3210;
    if (odd && part == 0) *reinterpret_cast<unsigned short*>(to) = pairs[0] & 0xffff;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const unsigned after = i + 1 < kPairs ? pairs[i + 1] : part == 0 ? next : 0;
      const bool all_real = (kPairs + i) * 2 + 1 < K;
      if (all_real || part * kPairs * 2 + i * 2 + odd < K) {
        reinterpret_cast<unsigned*>(to + odd)[i] = __byte_perm(pairs[i], after, select);
      }
    }
  }
};

}  // namespace convseq::kernels
