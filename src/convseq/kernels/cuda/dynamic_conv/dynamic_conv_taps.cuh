#pragma once

#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_band.cuh"
#include "convseq/kernels/cuda/small_exp.cuh"

// The taps of dynamic convolutions on the tensor cores: a warp loads those of its 16 positions from
// global memory, computes their softmax, and stores their gradients.
namespace convseq::kernels {

// Keeps a pointer to global memory in one register pair: the compiler must not recompute it from
// its parts at every use.
template <class T>
__device__ void keep_pointer(T*& pointer) {
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

  __device__ TapRows(const BandShape& shape, const BandCoord& coord, const Tap* values, int stride)
      : start(values + int64_t{coord.batch} * shape.time * stride + coord.strip * shape.kernel),
        pitch(stride),
        time(shape.time) {}

  __device__ bool exists(int position) const {
    return static_cast<unsigned>(position) < static_cast<unsigned>(time);
  }
};

// Which taps of 16 positions a lane loads or stores. Neighbouring lanes hold neighbouring taps;
// each set of K is padded to a power of two.
template <int K>
struct TapLane {
  static constexpr int kWidth = K <= 4 ? 4 : K <= 8 ? 8 : K <= 16 ? 16 : 32;
  static constexpr int kRowsPerPass = kLanes / kWidth;
  static constexpr int kCount = kBandTile / kRowsPerPass;
  int tap = threadIdx.x % kWidth;
  int first_row = threadIdx.x % kLanes / kWidth;

  __device__ bool holds() const { return tap < K; }
  __device__ int row(int i) const { return first_row + i * kRowsPerPass; }
};

// The taps of 16 positions in the registers of a warp.
template <class Tap, int K>
struct WarpTaps {
  Tap values[TapLane<K>::kCount];

  // Taps that do not exist become `fill`.
  __device__ void load(const TapRows<Tap>& rows, int first, Tap fill = from_float<Tap>(0.f)) {
    const TapLane<K> lane;
    const Tap* from = rows.start + int64_t{first + lane.first_row} * rows.pitch + lane.tap;
    const int64_t step = int64_t{TapLane<K>::kRowsPerPass} * rows.pitch;
    keep_pointer(from);
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i, from += step) {
      values[i] = fill;
      if (lane.holds() && rows.exists(first + lane.row(i))) values[i] = *from;
    }
  }

  // Stores the K taps of row r to to(r) in fp32.
  template <class To>
  __device__ void store(To to) const {
    const TapLane<K> lane;
    if (!lane.holds()) return;
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i) to(lane.row(i))[lane.tap] = to_float(values[i]);
  }
};

// The softmax of a row in shared memory, in place; each of two lanes handles every other tap.
template <int K>
__device__ void softmax_row(float* taps, bool real) {
  const int part = threadIdx.x % 2;
  float values[(K + 1) / 2];
  float max_logit = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) {
    values[i] = part + 2 * i < K ? taps[part + 2 * i] : -INFINITY;
    max_logit = fmaxf(max_logit, values[i]);
  }
  max_logit = fmaxf(max_logit, __shfl_xor_sync(kAllLanes, max_logit, 1));
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) sum += values[i] = small_exp(values[i] - max_logit);
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  const float scale = 1.f / sum;
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) {
    if (real && part + 2 * i < K) taps[part + 2 * i] = values[i] * scale;
  }
}

// The softmax, in place, of a row whose values are in two neighbouring lanes.
template <int N>
__device__ void softmax_of_two_lanes(float (&values)[N]) {
  float max_logit = -INFINITY, sum = 0;
#pragma unroll
  for (int i = 0; i < N; ++i) max_logit = fmaxf(max_logit, values[i]);
  max_logit = fmaxf(max_logit, __shfl_xor_sync(kAllLanes, max_logit, 1));
#pragma unroll
  for (int i = 0; i < N; ++i) sum += values[i] = small_exp(values[i] - max_logit);
  sum += __shfl_xor_sync(kAllLanes, sum, 1);
  const float scale = __fdividef(1.f, sum);  // the sum is in 1..2N
#pragma unroll
  for (int i = 0; i < N; ++i) values[i] *= scale;
}

// Stores the taps, or the softmax of the logits, of a warp's 16 positions to shared memory.
template <int K, class Tap, class To>
__device__ void store_taps(const WarpTaps<Tap, K>& given, const TapRows<Tap>& rows, int first,
                           bool take_softmax, To to) {
  given.store(to);
  __syncwarp();
  const int row = threadIdx.x % kLanes / 2;
  if (take_softmax) softmax_row<K>(to(row), rows.exists(first + row));
  __syncwarp();
}

// A ring buffer of taps in shared memory, each split into the sum of two bf16 values. Row s is
// shifted by s mod 8: its tap j is in column kFirst + s mod 8 + j, all else is 0. The taps along a
// diagonal of the band are then one column, and every eighth begins at 16 bytes, so that ldmatrix
// loads the band.
template <int K>
struct SplitTaps {
  static constexpr int kBlocks = band_blocks(K);
  static constexpr int kRows = (kBlocks - 1 + kBandWarps) * kBandTile;
  static constexpr int kFirst = (16 - (K - 1) % 8) % 8;
  static constexpr int kColumns = kFirst + 7 + K;
  static constexpr int kPitch =
      kColumns / 8 % 2 ? kColumns : kColumns + 8;  // an odd number of 16 bytes: no bank conflicts
  static constexpr int kValues = kRows * kPitch + 8;  // the last are zeros
  static constexpr int kBytes = 2 * kValues * sizeof(bf16);
  static constexpr int kStride = TapLane<K>::kWidth;
  static_assert(kColumns % 8 == 0 && kRows % 8 == 0 && kBytes % 16 == 0);
  bf16* high;  // followed by the low parts

  __device__ static int ring_row(int row) { return row >= kRows ? row - kRows : row; }

  __device__ void clear() const {
    for (int i = threadIdx.x; i < kBytes / 16; i += kBandThreads) {
      reinterpret_cast<uint4*>(high)[i] = uint4{0, 0, 0, 0};
    }
  }

  __device__ const bf16* vec(int row, int column) const {
    const bool holds = static_cast<unsigned>(column) < static_cast<unsigned>(kColumns);
    return high + (holds ? row * kPitch + column : kRows * kPitch);
  }

  // Row r, column q of the band: tap K − 1 − (q − r) of ring row first + q.
  __device__ void load_band(int first, BandTaps<kBlocks>& band) const {
    const int matrix = threadIdx.x % kLanes / 8;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const int eight = b * 2 + matrix / 2;
      const bf16* from = vec(ring_row(first + eight * 8 + threadIdx.x % 8),
                             kFirst + K - 1 - (eight - matrix % 2) * 8);
      ldmatrix_x4_transposed(band.high[b], from);
      ldmatrix_x4_transposed(band.low[b], from + kValues);
    }
  }

  // Row r, column q: tap q − before − r of ring row first + r, in the layout of BandAccumulators.
  __device__ void load_rows(int first, int before, float (&taps)[kBlocks][2][4]) const {
    const int matrix = threadIdx.x % kLanes / 8;
    const int r = matrix % 2 * 8 + threadIdx.x % 8;
    const int row = ring_row(first + r);
    const int begin = kFirst + row % 8 - before - r + matrix / 2 * 8;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const bf16* from = vec(row, begin + b * kBandTile);
      unsigned highs[4], lows[4];
      ldmatrix_x4(highs, from);
      ldmatrix_x4(lows, from + kValues);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const float2 high_pair = unpack_pair(highs[i]), low_pair = unpack_pair(lows[i]);
        taps[b][i / 2][i % 2 * 2] = high_pair.x + low_pair.x;
        taps[b][i / 2][i % 2 * 2 + 1] = high_pair.y + low_pair.y;
      }
    }
  }

  // Stores the taps, or the softmax of the logits, of a warp's 16 positions to ring rows `first` …;
  // `stage` has room for 16 · kStride values.
  template <class Tap>
  __device__ void store(const WarpTaps<Tap, K>& given, bool take_softmax, int first,
                        Tap* stage) const {
    constexpr int kPart = kStride / 2;
    const TapLane<K> lane;
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i) {
      stage[lane.row(i) * kStride + lane.tap] = given.values[i];
    }
    __syncwarp();
    const int row = threadIdx.x % kLanes / 2, part = threadIdx.x % 2;  // two lanes per row
    float values[kPart];
    load_values<Tap, kPart>(stage + row * kStride + part * kPart, values);
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

  // Stores pairs of values at word boundaries; where `odd`, shifted by one value with the
  // neighbour's.
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
