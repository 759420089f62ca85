#pragma once

#include "kernels/conv_band.cuh"
#include "kernels/small_exp.cuh"

// The taps of dynamic convolutions on the tensor cores: a warp brings those of its 16 positions
// from rows of global memory, takes their softmax, and back.
namespace convseq::kernels {

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

  __device__ bool exists(int position) const { return position >= 0 && position < time; }
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

  __device__ void load(const TapRows<Tap>& rows, int first) {
    const TapLane<K> lane;
    const Tap* from = rows.start + int64_t{first + lane.first_row} * rows.pitch + lane.tap;
#pragma unroll
    for (int i = 0; i < TapLane<K>::kCount; ++i) {
      values[i] = from_float<Tap>(0.f);
      if (lane.holds() && rows.exists(first + lane.row(i))) {
        values[i] = from[i * TapLane<K>::kRowsAtOnce * rows.pitch];
      }
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

// With p the softmax: p[j] · (d[j] − sum_l p[l] · d[l]); two lanes together, each every other tap.
template <int K>
__device__ void softmax_gradient_row(const float* taps, float* dtaps) {
  const int part = threadIdx.x % 2;
  float p[(K + 1) / 2], d[(K + 1) / 2];
  float mean = 0;
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) {
    const bool real = part + 2 * i < K;
    p[i] = real ? taps[part + 2 * i] : 0.f;
    d[i] = real ? dtaps[part + 2 * i] : 0.f;
  }
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) mean += p[i] * d[i];
  mean += __shfl_xor_sync(kAllLanes, mean, 1);
#pragma unroll
  for (int i = 0; i < (K + 1) / 2; ++i) {
    if (part + 2 * i < K) dtaps[part + 2 * i] = p[i] * (d[i] - mean);
  }
}

}  // namespace convseq::kernels
