#include <cfloat>

#include "kernels/cross_entropy.h"
#include "kernels/cuda_common.cuh"

namespace convseq::kernels {
namespace {

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
  __device__ void add(const Seen& other) {
    const bool other_leads = other.largest > largest || (other.largest == largest && other.at < at);
    const float lead = fmaxf(largest, other.largest);
    exponentials =
        exponentials * __expf(largest - lead) + other.exponentials * __expf(other.largest - lead);
    largest = lead;
    at = other_leads ? other.at : at;
    sum += other.sum;
  }
  __device__ Seen of_lane(int mask) const {
    return {__shfl_xor_sync(kAllLanes, largest, mask), __shfl_xor_sync(kAllLanes, at, mask),
            __shfl_xor_sync(kAllLanes, exponentials, mask), __shfl_xor_sync(kAllLanes, sum, mask)};
  }
};

// Every thread gets the block's; the order of the sums is fixed.
__device__ Seen of_block(Seen seen) {
  __shared__ Seen of_warps[kWarps];
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2) seen.add(seen.of_lane(mask));
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = seen;
  __syncthreads();
  Seen all = of_warps[0];
  for (int warp = 1; warp < kWarps; ++warp) all.add(of_warps[warp]);
  return all;
}

template <class T, int V>
__device__ void fill_with_zeros(T* row, int classes) {
  const float zeros[V] = {};
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) store_values(row + c, zeros);
}

// A block a row. The second time the row is read it comes from the cache.
template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    cross_entropy_kernel(CrossEntropyShape shape, CrossEntropyArrays arrays) {
  const int64_t row = blockIdx.x;
  const int classes = static_cast<int>(shape.classes);
  const int64_t label = arrays.labels[row];
  const float* logits = arrays.logits + row * classes;
  T* slope = arrays.slope == nullptr ? nullptr : static_cast<T*>(arrays.slope) + row * classes;
  float4* result = reinterpret_cast<float4*>(arrays.rows) + row;
  if (label == shape.ignored) {
    if (threadIdx.x == 0) *result = make_float4(0, 0, 0, 0);
    if (slope != nullptr) fill_with_zeros<T, V>(slope, classes);
    return;
  }

  Seen seen;
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) {
    float x[V];
    load_values(logits + c, x);
#pragma unroll
    for (int v = 0; v < V; ++v) seen.add(x[v] * shape.scale, c + v);
  }
  const Seen all = of_block(seen);
  const float weight = arrays.weights == nullptr ? 1.f : arrays.weights[row];
  const float log_z = all.largest + logf(all.exponentials);
  if (threadIdx.x == 0) {
    const float nll = log_z - logits[label] * shape.scale;
    const float z_loss = shape.z_loss * log_z * log_z;
    const float mean_log_p = all.sum / static_cast<float>(classes) - log_z;
    float loss = (1 - shape.smoothing) * nll + z_loss;
    if (shape.smoothing > 0) loss -= shape.smoothing * mean_log_p;
    *result = make_float4(weight * loss, nll, z_loss, all.at == label ? 1.f : 0.f);
  }
  if (slope == nullptr) return;

  const float factor = weight * (1 + 2 * shape.z_loss * log_z);
  const float everywhere = weight * shape.smoothing / static_cast<float>(classes);
  const float at_target = weight * (1 - shape.smoothing);
  for (int c = threadIdx.x * V; c < classes; c += kThreads * V) {
    float x[V];
    load_values(logits + c, x);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      x[v] = factor * __expf(x[v] * shape.scale - log_z) - everywhere;
      if (c + v == label) x[v] -= at_target;
    }
    store_values(slope + c, x);
  }
}

}  // namespace

void cross_entropy_cuda(const CrossEntropyShape& shape, const CrossEntropyArrays& arrays,
                        Stream stream) {
  if (shape.rows == 0 || shape.classes == 0) return;
  constexpr int kPack = 4;
  const bool packed =
      shape.classes % kPack == 0 && is_aligned(arrays.logits) && is_aligned(arrays.slope);
  with_type(shape.slope_type, [&](auto type) {
    with_bool(packed, [&](auto in_packs) {
      cross_entropy_kernel<decltype(type), in_packs.value ? kPack : 1>
          <<<grid_of(shape.rows, "cross_entropy"), kThreads, 0,
             static_cast<cudaStream_t>(stream)>>>(shape, arrays);
    });
  });
  check_launch("cross_entropy");
}

}  // namespace convseq::kernels
