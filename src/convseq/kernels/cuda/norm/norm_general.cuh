#pragma once

#include "convseq/kernels/cuda/norm/norm_rows.cuh"

// Norms of any number of channels.
namespace convseq::kernels::norm {

template <class Value>
__device__ float channel_sum(int channels, Value value) {
  float sum = 0;
  for (int c = threadIdx.x; c < channels; c += kThreads) sum += value(c);
  return block_sum<kThreads>(sum);
}

// Any number of channels, one block per row; the row is read again from the cache.
template <class T, bool kCentred>
__global__ void __launch_bounds__(kThreads) general_forward_kernel(Forward<T> a) {
  const int64_t begin = int64_t{blockIdx.x} * a.channels;
  const T* x = a.x + begin;
  const float count = static_cast<float>(a.channels);
  float mean = 0;
  if constexpr (kCentred) {
    mean = channel_sum(a.channels, [&](int c) { return to_float(x[c]); }) / count;
  }
  const float squares = channel_sum(a.channels, [&](int c) {
    const float centred = to_float(x[c]) - mean;
    return centred * centred;
  });
  const float scale = rsqrtf(squares / count + a.eps);
  if (threadIdx.x == 0) {
    a.scale[blockIdx.x] = scale;
    if constexpr (kCentred) a.mean[blockIdx.x] = mean;
  }
  for (int c = threadIdx.x; c < a.channels; c += kThreads) {
    float y = (to_float(x[c]) - mean) * scale * to_float(a.weight[c]);
    if constexpr (kCentred) y += to_float(a.bias[c]);
    if (a.residual != nullptr) y += to_float(a.residual[begin + c]);
    a.y[begin + c] = from_float<T>(y);
  }
}

template <class T, bool kCentred>
__global__ void __launch_bounds__(kThreads) general_dx_kernel(Backward<T> a) {
  const int64_t begin = int64_t{blockIdx.x} * a.channels;
  const float count = static_cast<float>(a.channels), scale = a.scale[blockIdx.x];
  float mean = 0;
  if constexpr (kCentred) mean = a.mean[blockIdx.x];
  const auto n = [&](int c) { return (to_float(a.x[begin + c]) - mean) * scale; };
  // Rounded, so that it is the same value in each use: with one channel the difference must be 0.
  const auto g = [&](int c) { return __fmul_rn(to_float(a.dy[begin + c]), to_float(a.weight[c])); };
  const float mean_g = kCentred ? channel_sum(a.channels, g) / count : 0.f;
  const float mean_gn = channel_sum(a.channels, [&](int c) { return g(c) * n(c); }) / count;
  for (int c = threadIdx.x; c < a.channels; c += kThreads) {
    float dx = scale * (g(c) - mean_g - n(c) * mean_gn);
    if (a.dx_to_add != nullptr) dx += to_float(a.dx_to_add[begin + c]);
    a.dx[begin + c] = from_float<T>(dx);
  }
}

// One thread per channel; block y of kBlocks sums every kBlocks-th row.
template <class T, bool kCentred>
__global__ void __launch_bounds__(kThreads) general_sums_kernel(Backward<T> a) {
  const int c = blockIdx.x * kThreads + threadIdx.x;
  if (c >= a.channels) return;
  float dweight_sum = 0, dbias_sum = 0;
  for (int64_t row = blockIdx.y; row < a.rows; row += kBlocks) {
    const float dy = to_float(a.dy[row * a.channels + c]);
    const float mean = kCentred ? a.mean[row] : 0.f;
    dweight_sum += dy * (to_float(a.x[row * a.channels + c]) - mean) * a.scale[row];
    dbias_sum += dy;
  }
  float* to = a.sums + int64_t{blockIdx.y} * 2 * a.channels;
  to[c] = dweight_sum;
  to[a.channels + c] = dbias_sum;
}

}  // namespace convseq::kernels::norm
