#pragma once

#include <cfloat>

#include "convseq/kernels/cross_entropy.h"
#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/small_exp.cuh"

// One row of logits in a block: what is known of it, its loss and its gradient.
namespace convseq::kernels::cross_entropy {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kLanes;

// What is known of some of a row's logits: the largest and where it first stands, Σ exp(x −
// largest) and Σ x.
struct Seen {
  float largest = -FLT_MAX;
  int at = INT32_MAX;
  float exponentials = 0;
  float sum = 0;

  __device__ void add(float x, int place) {
    sum += x;
    if (x > largest) {
      exponentials *= __expf(largest - x);
      largest = x;
      at = place;
    }
    exponentials += __expf(x - largest);
  }
};

__device__ inline Seen of_warp(const Seen& seen) {
  const float largest = warp_max(seen.largest);
  return {largest, __reduce_min_sync(kAllLanes, seen.largest == largest ? seen.at : INT32_MAX),
          warp_sum(seen.exponentials * __expf(seen.largest - largest)), warp_sum(seen.sum)};
}

// Every thread gets the block's; the order of the sums is fixed. Two calls that follow one another
// take different `of_warps`.
__device__ inline Seen of_block(const Seen& seen, Seen (&of_warps)[kWarps]) {
  const Seen own = of_warp(seen);
  const int lane = threadIdx.x % kLanes;
  if (lane == 0) of_warps[threadIdx.x / kLanes] = own;
  __syncthreads();
  return of_warp(lane < kWarps ? of_warps[lane] : Seen{});
}

// From probabilities to gradients.
struct GradientRule {
  float factor, everywhere, at_label;
  int label;

  template <int V>
  __device__ void apply(int first, float (&x)[V]) const {  // of classes `first` on
#pragma unroll
    for (int v = 0; v < V; ++v) x[v] = factor * x[v] - everywhere;
    if (label < first || label >= first + V) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (first + v == label) x[v] -= at_label;
    }
  }
};

// One row's loss from its statistics.
struct RowLoss {
  float weight, log_z;

  __device__ RowLoss(const CrossEntropyArrays& arrays, int64_t row, const Seen& all)
      : weight(arrays.weights == nullptr ? 1.f : arrays.weights[row]),
        log_z(all.largest + logf(all.exponentials)) {}

  __device__ float4 result(const CrossEntropyShape& shape, const Seen& all, int64_t label,
                           float logit) const {
    const float nll = log_z - logit * shape.scale;
    const float z_loss = shape.z_loss * log_z * log_z;
    const float mean_log_p = all.sum / static_cast<float>(shape.classes) - log_z;
    float loss = (1 - shape.smoothing) * nll + z_loss;
    if (shape.smoothing > 0) loss -= shape.smoothing * mean_log_p;
    return make_float4(weight * loss, nll, z_loss, all.at == label ? 1.f : 0.f);
  }
  __device__ GradientRule rule(const CrossEntropyShape& shape, int64_t label) const {
    return {weight * (1 + 2 * shape.z_loss * log_z),
            weight * shape.smoothing / static_cast<float>(shape.classes),
            weight * (1 - shape.smoothing), static_cast<int>(label)};
  }
};

}  // namespace convseq::kernels::cross_entropy
