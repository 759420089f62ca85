#pragma once

#include <cfloat>

#include "convseq/kernels/cuda/attention/attention_paths.h"
#include "convseq/kernels/cuda/capture.h"
#include "convseq/kernels/cuda/cluster.cuh"

// What the kernels of a decoding step share: a block, or a cluster of them, computes the attention
// of one row and head, and its warps take turns at tiles of keys.
namespace convseq::kernels::step {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kLanes;
constexpr int kMostSplits = 8;

// Online softmax over some of the keys: Σ weight and Σ weight · value with weights 2^(score − max).
template <int N>
struct SoftmaxSums {
  float max_score = -FLT_MAX;
  float weight = 0;
  float values[N] = {};

  __device__ void rescale(float to) {
    const float factor = exp2f(max_score - to);
    max_score = to;
    weight *= factor;
#pragma unroll
    for (float& value : values) value *= factor;
  }
};

// Over the lanes of a warp that are a multiple of kFirst apart: they hold the same channels.
template <int kFirst, int N>
__device__ void merge_lanes(SoftmaxSums<N>& sums) {
  float max_score = sums.max_score;
#pragma unroll
  for (int step = kFirst; step < kLanes; step *= 2) {
    max_score = fmaxf(max_score, __shfl_xor_sync(kAllLanes, max_score, step));
  }
  sums.rescale(max_score);
#pragma unroll
  for (int step = kFirst; step < kLanes; step *= 2) {
    sums.weight += __shfl_xor_sync(kAllLanes, sums.weight, step);
#pragma unroll
    for (float& value : sums.values) value += __shfl_xor_sync(kAllLanes, value, step);
  }
}

// The sums of some keys, one value per channel, in shared memory.
template <int kChannels>
struct SharedSums {
  float max_score;
  float weight;
  float values[kChannels];
};

template <int kChannels>
struct BlockSums {
  SharedSums<kChannels> of_warps[kWarps];
  SharedSums<kChannels> of_block;
};

// The sums of `count` parts for one channel, in the order of the parts.
template <class Part>
__device__ SoftmaxSums<1> merge_parts(int count, int channel, Part part) {
  SoftmaxSums<1> total;
  for (int i = 0; i < count; ++i) total.max_score = fmaxf(total.max_score, part(i)->max_score);
  for (int i = 0; i < count; ++i) {
    const float factor = exp2f(part(i)->max_score - total.max_score);
    total.weight += factor * part(i)->weight;
    total.values[0] += factor * part(i)->values[channel];
  }
  return total;
}

template <class T>
__device__ T* row_of(const AttentionRows& rows, int row, int head) {
  return const_cast<T*>(static_cast<const T*>(rows.data)) + row * rows.batch + head * rows.head;
}

// The sums over all lanes, warps and blocks of a row and head, as its output. Lanes that are a
// multiple of kKeyLanes apart hold the same channels, those from `channel` on.
template <int kSplits, int kKeyLanes, class T, int kChannels, int N>
__device__ void write_output(SoftmaxSums<N>& sums, int channel, BlockSums<kChannels>& shared,
                             T* y) {
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  merge_lanes<kKeyLanes>(sums);
  SharedSums<kChannels>& own = shared.of_warps[warp];
  if (lane < kKeyLanes) {
#pragma unroll
    for (int c = 0; c < N; ++c) own.values[channel + c] = sums.values[c];
  }
  if (lane == 0) own.max_score = sums.max_score, own.weight = sums.weight;
  __syncthreads();

  const int split = blockIdx.x, output = threadIdx.x;
  const bool has_output = output < kChannels;
  SoftmaxSums<1> total;
  if (has_output) total = merge_parts(kWarps, output, [&](int i) { return &shared.of_warps[i]; });
  if constexpr (kSplits > 1) {
    SharedSums<kChannels>& of_block = shared.of_block;
    if (has_output) of_block.values[output] = total.values[0];
    if (output == 0) of_block.max_score = total.max_score, of_block.weight = total.weight;
    cluster_sync();
    if (split == 0 && has_output) {
      total = merge_parts(kSplits, output, [&](int i) { return in_cluster_block(&of_block, i); });
    }
    cluster_sync();  // a block's shared memory lives until the first block has read it
  }
  if (split != 0 || !has_output) return;
  y[output] = from_float<T>(total.weight > 0 ? total.values[0] / total.weight : 0.f);
}

// Whether the keys of a row and head are split among blocks: where there are too few rows and heads
// to fill the memory bandwidth.
inline bool wants_splits(const AttentionStepShape& shape, int keys_per_warp) {
  constexpr int64_t kManyBlocks = 256;
  return shape.batch * shape.heads < kManyBlocks && shape.keys > kWarps * keys_per_warp &&
         has_clusters();
}

// A kernel for one type, number of channels per head and number of splits.
struct StepKernel {
  void (*kernel)(AttentionStepShape, AttentionStep);
  int keys_per_warp;        // in one tile
  size_t shared_bytes = 0;  // allocated at the launch
};

// Launches kernel_of(T{}, channels per head, splits), the numbers as integral constants.
template <class KernelOf>
void launch_step(const AttentionStepShape& shape, const AttentionStep& arrays, cudaStream_t stream,
                 KernelOf kernel_of) {
  const auto launch = [&](const StepKernel& step, int splits) {
    allow_shared_memory(step.kernel, step.shared_bytes);
    const dim3 blocks(static_cast<unsigned>(splits), static_cast<unsigned>(shape.heads),
                      static_cast<unsigned>(shape.batch));
    launch_dependent(step.kernel, blocks, kThreads, step.shared_bytes, stream, shape, arrays);
  };
  with_type(shape.type, [&](auto type) {
    with_head_channels(shape.channels, [&](auto channels) {
      const StepKernel whole = kernel_of(type, channels, std::integral_constant<int, 1>{});
      if (!wants_splits(shape, whole.keys_per_warp)) return launch(whole, 1);
      launch(kernel_of(type, channels, std::integral_constant<int, kMostSplits>{}), kMostSplits);
    });
  });
}

}  // namespace convseq::kernels::step
