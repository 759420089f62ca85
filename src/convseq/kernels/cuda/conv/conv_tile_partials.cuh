#pragma once

#include "convseq/kernels/cuda/conv/conv_tile.cuh"

// A block's part of the gradient of the taps: the registers of its lanes, summed in a fixed order
// and written to the block's slice of partial [slices, k, groups].
namespace convseq::kernels {

// Sums N values (a power of two) over the lanes of a warp: lane l gets the sum of value l mod N.
// Each step halves the number of values per lane, which takes N − 1 shuffles instead of 5N.
template <int N, int kHalf = N / 2>
__device__ float transpose_sum(float (&values)[N]) {
  if constexpr (kHalf > 0) {
    const bool upper = threadIdx.x & kHalf;
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const float kept = upper ? values[i + kHalf] : values[i];
      const float sent = upper ? values[i] : values[i + kHalf];
      values[i] = kept + __shfl_xor_sync(kAllLanes, sent, kHalf);
    }
    return transpose_sum<N, kHalf / 2>(values);
  } else {
    float sum = values[0];
#pragma unroll
    for (int step = N; step < kLanes; step *= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
    return sum;
  }
}

__host__ __device__ constexpr int power_of_two(int n) {
  int power = 1;
  while (power < n) power *= 2;
  return power;
}

// Where a block writes its sums: slice s of partial [slices, k, groups].
struct PartialCoord {
  float* slice;
  int groups;
  int group;      // of the strip's first channel
  int first_tap;  // gradients are in reverse order: value j belongs to tap first_tap − j
};

// One allocation of shared memory for all tap counts.
template <int kFloats>
__device__ float* scratch_memory() {
  __shared__ float memory[kFloats];
  return memory;
}

// One head per strip: sums over lanes, then over warps.
template <int V, int K>
__device__ void write_partials(const LaneTaps<true, V, K>& gradient, const PartialCoord& coord) {
  constexpr int N = power_of_two(K);
  static_assert(N <= kLanes);
  float* scratch = scratch_memory<kThreads>();
  float values[N] = {};
#pragma unroll
  for (int j = 0; j < K; ++j) values[j] = gradient.values[0][j];
  const float sum = transpose_sum(values);
  scratch[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x < K) {
    float total = 0;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) total += scratch[warp * kLanes + threadIdx.x];
    const int tap = coord.first_tap - static_cast<int>(threadIdx.x);
    coord.slice[int64_t{tap} * coord.groups + coord.group] = total;
  }
  __syncthreads();
}

// One sum per channel: over the workers of a warp, then over warps, a few taps at a time.
template <int V, int K>
__device__ void write_partials(const LaneTaps<false, V, K>& gradient, const PartialCoord& coord) {
  constexpr int kTaps = kThreads / kStrip;
  constexpr int kLanesPerRow = kStrip / V;
  float* scratch = scratch_memory<kWarps * kTaps * kStrip>();
  float* own_scratch = scratch + threadIdx.x / kLanes * kTaps * kStrip;
  const int lane = threadIdx.x % kLanes;
  const int column = threadIdx.x % kStrip;
  const int own_tap = threadIdx.x / kStrip;
#pragma unroll
  for (int first = 0; first < K; first += kTaps) {
#pragma unroll
    for (int j = first; j < K && j < first + kTaps; ++j) {
#pragma unroll
      for (int v = 0; v < V; ++v) {
        float sum = gradient.values[v][j];
#pragma unroll
        for (int step = kLanesPerRow; step < kLanes; step *= 2) {
          sum += __shfl_xor_sync(kAllLanes, sum, step);
        }
        if (lane < kLanesPerRow) own_scratch[(j - first) * kStrip + lane * V + v] = sum;
      }
    }
    __syncthreads();
    if (first + own_tap < K && coord.group + column < coord.groups) {
      float total = 0;
#pragma unroll
      for (int warp = 0; warp < kWarps; ++warp)
        total += scratch[warp * kTaps * kStrip + threadIdx.x];
      const int tap = coord.first_tap - first - own_tap;
      coord.slice[int64_t{tap} * coord.groups + coord.group + column] = total;
    }
    __syncthreads();
  }
}

template <bool kShared>
__device__ PartialCoord partial_coord(const TileShape& shape, const BlockCoord& coord,
                                      float* partial) {
  // Where a head spans several strips, each strip has its own slot.
  const int groups = kShared ? shape.strips : shape.channels;
  const int64_t slice = int64_t{coord.batch} * shape.tiles + coord.tile;
  return {partial + slice * shape.kernel * groups, groups,
          kShared ? coord.channel / kStrip : coord.channel, shape.kernel - 1};
}

}  // namespace convseq::kernels
