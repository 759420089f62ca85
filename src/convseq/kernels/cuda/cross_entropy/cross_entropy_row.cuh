#pragma once

#include <cfloat>

#include "convseq/kernels/cross_entropy.h"
#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/small_exp.cuh"

// The statistics, loss and gradient of one row of logits in a block.
namespace convseq::kernels::cross_entropy {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kLanes;

// Online softmax over a part of a row: the largest logit and its first index, Σ exp(x − max_logit)
// and Σ x.
struct SoftmaxStats {
  float max_logit = -FLT_MAX;
  int argmax = INT32_MAX;
  float exp_sum = 0;
  float sum = 0;

  __device__ void add(float x, int index) {
    sum += x;
    if (x > max_logit) {
      exp_sum *= __expf(max_logit - x);
      max_logit = x;
      argmax = index;
    }
    exp_sum += __expf(x - max_logit);
  }
};

__device__ inline SoftmaxStats warp_reduce(const SoftmaxStats& stats) {
  const float max_logit = warp_max(stats.max_logit);
  return {max_logit,
          __reduce_min_sync(kAllLanes, stats.max_logit == max_logit ? stats.argmax : INT32_MAX),
          warp_sum(stats.exp_sum * __expf(stats.max_logit - max_logit)), warp_sum(stats.sum)};
}

// The statistics of the block, for every thread; sums have a fixed order. Two consecutive calls
// need different `warp_stats`.
__device__ inline SoftmaxStats block_reduce(const SoftmaxStats& stats,
                                            SoftmaxStats (&warp_stats)[kWarps]) {
  const SoftmaxStats own = warp_reduce(stats);
  const int lane = threadIdx.x % kLanes;
  if (lane == 0) warp_stats[threadIdx.x / kLanes] = own;
  __syncthreads();
  return warp_reduce(lane < kWarps ? warp_stats[lane] : SoftmaxStats{});
}

// gradient = factor · p − smoothing − target · [class is the label]
struct GradientCoefficients {
  float factor, smoothing, target;
  int label;

  template <int V>
  __device__ void apply(int first, float (&x)[V]) const {  // for classes `first` on
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = factor * x[v] - smoothing;
    if (label < first || label >= first + V) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (first + v == label) x[v] -= target;
    }
  }
};

// One row's loss from its statistics.
struct RowLoss {
  float weight, log_z;

  __device__ RowLoss(const CrossEntropyArrays& arrays, int64_t row, const SoftmaxStats& all)
      : weight(arrays.weights == nullptr ? 1.f : arrays.weights[row]),
        log_z(all.max_logit + logf(all.exp_sum)) {}

  __device__ float4 result(const CrossEntropyShape& shape, const SoftmaxStats& all, int64_t label,
                           float logit) const {
    const float nll = log_z - logit * shape.scale;
    const float z_loss = shape.z_loss * log_z * log_z;
    const float mean_log_p = all.sum / static_cast<float>(shape.classes) - log_z;
    float loss = (1 - shape.smoothing) * nll + z_loss;
    if (shape.smoothing > 0) loss -= shape.smoothing * mean_log_p;
    return make_float4(weight * loss, nll, z_loss, all.argmax == label ? 1.f : 0.f);
  }
  __device__ GradientCoefficients coefficients(const CrossEntropyShape& shape,
                                               int64_t label) const {
    return {weight * (1 + 2 * shape.z_loss * log_z),
            weight * shape.smoothing / static_cast<float>(shape.classes),
            weight * (1 - shape.smoothing), static_cast<int>(label)};
  }
};

}  // namespace convseq::kernels::cross_entropy
