#pragma once

#include <algorithm>

#include "convseq/kernels/cuda/common.cuh"

// The arguments of the norm kernels, and how a warp holds a row.
namespace convseq::kernels::norm {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kLanes;
constexpr int kPack = 8;      // channels per vectorised load of a lane
constexpr int kMaxPacks = 4;  // per lane, in registers: up to 1024 channels
constexpr int kBlocks = 264;  // of the backward pass: two on each of 132 multiprocessors
constexpr int kMaxPipelineBytes = 96 * 1024;  // per block: available on every GPU since sm_80

template <class T>
struct Forward {
  int64_t rows;
  int channels;
  float eps;
  const T *x, *weight, *bias, *residual;
  T* y;
  float *mean, *scale;
};

template <class T>
struct Backward {
  int64_t rows;
  int channels;
  const T *x, *weight;
  const float *mean, *scale;
  const T *dy, *dx_to_add;
  T* dx;
  float* sums;  // [kBlocks, 2, C]: parts of dweight and dbias
};

// A lane's packs of a row: pack p begins at channel (p · 32 + lane) · kPack.
template <int P>
struct LaneSlice {
  int packs;  // of a whole row

  // Only the last pack may be missing: P is no larger than a row needs.
  __device__ bool has(int p) const { return p < P - 1 || p * kLanes + lane() < packs; }
  __device__ int channel(int p) const { return (p * kLanes + lane()) * kPack; }
  __device__ static int lane() { return threadIdx.x % kLanes; }

  template <class Use>
  __device__ void each_pack(Use use) const {  // use(p) for all packs that exist
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (has(p)) use(p);
    }
  }
  template <class Use>
  __device__ void each(Use use) const {  // use(p, v)
    each_pack([&](int p) {
#pragma unroll
      for (int v = 0; v < kPack; ++v) use(p, v);
    });
  }
  template <class T>
  __device__ void load(const T* row, Pack<T, kPack> (&packs)[P]) const {
    each_pack([&](int p) { packs[p] = load_pack<T, kPack>(row + channel(p)); });
  }
  __device__ void store(float* row, const float (&values)[P][kPack]) const {
    each_pack([&](int p) { store_values(row + channel(p), values[p]); });
  }
};

// The cp.async pipeline of a warp's rows of x and dy in shared memory. Each lane copies what it
// reads itself, so it waits for no other lane.
template <class T, int P>
struct RowPipeline {
  static constexpr int kStage = 2 * P * kLanes * kPack;  // values
  static constexpr int kStageBytes = kStage * static_cast<int>(sizeof(T));
  static constexpr int kStages = std::min(3, kMaxPipelineBytes / (kWarps * kStageBytes));
  static constexpr int kPrefetch = kStages - 1;  // rows in flight while one is computed
  static constexpr int kBytes = kStages * kStageBytes;
  static_assert(kBytes >=
                kStage * static_cast<int>(sizeof(float)));  // at the end it holds the sums

  T* start;

  // Of x (0) or dy (1).
  __device__ T* stage_address(int stage, int which, int p) const {
    return start + stage * kStage + ((which * P + p) * kLanes + LaneSlice<P>::lane()) * kPack;
  }
  __device__ void prefetch(const LaneSlice<P>& slice, const Backward<T>& a, int64_t row,
                           int stage) const {
    if (row < a.rows) {
      slice.each_pack([&](int p) {
        const int64_t at = row * a.channels + slice.channel(p);
        copy(a.x + at, stage_address(stage, 0, p));
        copy(a.dy + at, stage_address(stage, 1, p));
      });
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  // Waits for the oldest row; kPrefetch rows stay in flight.
  __device__ static void wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(kPrefetch) : "memory");
  }
  __device__ static void copy(const T* from, T* to) {
    constexpr int kVector = 16 / static_cast<int>(sizeof(T));
#pragma unroll
    for (int i = 0; i < kPack; i += kVector) cp_async_16(to + i, from + i, true);
  }
};

}  // namespace convseq::kernels::norm
