#include <cfloat>

#include "convseq/kernels/conv.h"
#include "convseq/kernels/cuda/common.cuh"

// One warp per head: k is small, and the launch takes most of the time.
namespace convseq::kernels {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kLanes;

__device__ int64_t head_of_warp() { return int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes; }

template <class T>
__global__ void __launch_bounds__(kThreads)
    tap_softmax_kernel(int64_t heads, int kernel, const T* logits, float* taps) {
  grid_dependency_wait();
  const int64_t head = head_of_warp();
  if (head >= heads) return;
  const int lane = threadIdx.x % kLanes;
  const T* from = logits + head * kernel;
  float* to = taps + head * kernel;
  float max_logit = -FLT_MAX, sum = 0;
  for (int j = lane; j < kernel; j += kLanes) max_logit = fmaxf(max_logit, to_float(from[j]));
  max_logit = warp_max(max_logit);
  for (int j = lane; j < kernel; j += kLanes) sum += expf(to_float(from[j]) - max_logit);
  sum = warp_sum(sum);
  for (int j = lane; j < kernel; j += kLanes) to[j] = expf(to_float(from[j]) - max_logit) / sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    tap_softmax_backward_kernel(int64_t heads, int kernel, const float* taps, const float* dtaps,
                                T* dlogits) {
  grid_dependency_wait();
  const int64_t head = head_of_warp();
  if (head >= heads) return;
  const int lane = threadIdx.x % kLanes;
  const float *y = taps + head * kernel, *dy = dtaps + head * kernel;
  float dot = 0;
  for (int j = lane; j < kernel; j += kLanes) dot += y[j] * dy[j];
  dot = warp_sum(dot);
  for (int j = lane; j < kernel; j += kLanes) {
    dlogits[head * kernel + j] = from_float<T>(y[j] * (dy[j] - dot));
  }
}

unsigned blocks_of(const ConvShape& shape) {
  return checked_grid(ceil_div<int64_t>(shape.heads, kWarps), "tap_softmax");
}

}  // namespace

void tap_softmax_forward_cuda(const ConvShape& shape, const void* logits, float* taps, Stream on) {
  if (shape.heads == 0) return;
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    launch_dependent(tap_softmax_kernel<T>, blocks_of(shape), kThreads, 0,
                     static_cast<cudaStream_t>(on), shape.heads, static_cast<int>(shape.kernel),
                     static_cast<const T*>(logits), taps);
  });
  check_launch("tap_softmax_forward");
}

void tap_softmax_backward_cuda(const ConvShape& shape, const float* taps, const float* dtaps,
                               void* dlogits, Stream on) {
  if (shape.heads == 0) return;
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    launch_dependent(tap_softmax_backward_kernel<T>, blocks_of(shape), kThreads, 0,
                     static_cast<cudaStream_t>(on), shape.heads, static_cast<int>(shape.kernel),
                     taps, dtaps, static_cast<T*>(dlogits));
  });
  check_launch("tap_softmax_backward");
}

}  // namespace convseq::kernels
