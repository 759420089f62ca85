#include "kernels/cuda_common.cuh"
#include "kernels/norm.h"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kLanes;
constexpr int kPack = 8;       // channels that a lane takes at once
constexpr int kMostPacks = 4;  // of a lane, held in registers: up to 1024 channels
constexpr int kBlocks = 264;   // of the backward pass: two on each of 132 multiprocessors

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
  const T *dy, *more;
  T* dx;
  float* sums;  // [kBlocks, 2, C]: parts of dweight and dbias
};

// A lane's share of a row: pack p of it stands at channel (p · 32 + lane) · kPack.
template <int P>
struct Share {
  int packs;  // of a whole row

  __device__ bool has(int p) const { return p * kLanes + lane() < packs; }
  __device__ int channel(int p) const { return (p * kLanes + lane()) * kPack; }
  __device__ static int lane() { return threadIdx.x % kLanes; }

  template <class Use>
  __device__ void each(Use use) const {  // use(p, v) for all that is there
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (!has(p)) continue;
#pragma unroll
      for (int v = 0; v < kPack; ++v) use(p, v);
    }
  }
  template <class T>
  __device__ void load(const T* row, float (&values)[P][kPack]) const {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (has(p)) load_values(row + channel(p), values[p]);
    }
  }
  template <class T>
  __device__ void store(T* row, const float (&values)[P][kPack]) const {
#pragma unroll
    for (int p = 0; p < P; ++p) {
      if (has(p)) store_values(row + channel(p), values[p]);
    }
  }
};

// A warp a row, all of it in registers.
template <class T, bool kCentred, int P>
__global__ void __launch_bounds__(kThreads) forward_kernel(Forward<T> a) {
  const Share<P> share{a.channels / kPack};
  const int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes;
  if (row >= a.rows) return;
  const int64_t begin = row * a.channels;
  const float count = static_cast<float>(a.channels);
  float x[P][kPack], other[P][kPack];
  share.load(a.x + begin, x);
  if (a.residual != nullptr) share.load(a.residual + begin, other);

  if constexpr (kCentred) {
    float sum = 0;
    share.each([&](int p, int v) { sum += x[p][v]; });
    const float mean = warp_sum(sum) / count;
    share.each([&](int p, int v) { x[p][v] -= mean; });
    if (share.lane() == 0) a.mean[row] = mean;
  }
  float squares = 0;
  share.each([&](int p, int v) { squares += x[p][v] * x[p][v]; });
  const float scale = rsqrtf(warp_sum(squares) / count + a.eps);
  if (share.lane() == 0) a.scale[row] = scale;

  share.each([&](int p, int v) { x[p][v] *= scale; });
  float weight[P][kPack];
  share.load(a.weight, weight);
  share.each([&](int p, int v) { x[p][v] *= weight[p][v]; });
  if constexpr (kCentred) {
    share.load(a.bias, weight);
    share.each([&](int p, int v) { x[p][v] += weight[p][v]; });
  }
  if (a.residual != nullptr) share.each([&](int p, int v) { x[p][v] += other[p][v]; });
  share.store(a.y + begin, x);
}

// The warps' sums, one after another: [2, C] of the block.
template <int P>
__device__ void add_up(const Share<P>& share, int channels, const float (&of_weight)[P][kPack],
                       const float (&of_bias)[P][kPack], float* to) {
  extern __shared__ float block_sums[];  // [2, C]
  for (int warp = 0; warp < kWarps; ++warp) {
    if (warp == static_cast<int>(threadIdx.x) / kLanes) {
      share.each([&](int p, int v) {
        float& weight = block_sums[share.channel(p) + v];
        float& bias = block_sums[channels + share.channel(p) + v];
        weight = (warp == 0 ? 0.f : weight) + of_weight[p][v];
        bias = (warp == 0 ? 0.f : bias) + of_bias[p][v];
      });
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < 2 * channels; i += kThreads) to[i] = block_sums[i];
}

// With n = (x − mean) · scale and g = dy · weight:
//   dx = scale · (g − mean(g) − n · mean(g · n)), without mean(g) where not centred,
//   dweight = Σ dy · n, dbias = Σ dy.
// Each warp adds up the rows it takes; blocks leave their sums to sum_kernel.
template <class T, bool kCentred, int P>
__global__ void __launch_bounds__(kThreads) backward_kernel(Backward<T> a) {
  const Share<P> share{a.channels / kPack};
  const float count = static_cast<float>(a.channels);
  float of_weight[P][kPack] = {}, of_bias[P][kPack] = {};
  for (int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes; row < a.rows;
       row += int64_t{kBlocks} * kWarps) {
    const int64_t begin = row * a.channels;
    const float scale = a.scale[row];
    float mean = 0;
    if constexpr (kCentred) mean = a.mean[row];
    float n[P][kPack], g[P][kPack], weight[P][kPack];
    share.load(a.x + begin, n);
    share.load(a.dy + begin, g);
    share.load(a.weight, weight);
    float sum = 0, product = 0;
    share.each([&](int p, int v) {
      n[p][v] = (n[p][v] - mean) * scale;
      of_weight[p][v] += g[p][v] * n[p][v];
      of_bias[p][v] += g[p][v];
      g[p][v] *= weight[p][v];
      sum += g[p][v];
      product += g[p][v] * n[p][v];
    });
    const float of_sum = kCentred ? warp_sum(sum) / count : 0.f;
    const float of_product = warp_sum(product) / count;
    share.each([&](int p, int v) { g[p][v] = scale * (g[p][v] - of_sum - n[p][v] * of_product); });
    if (a.more != nullptr) {
      share.load(a.more + begin, n);
      share.each([&](int p, int v) { g[p][v] += n[p][v]; });
    }
    share.store(a.dx + begin, g);
  }
  add_up(share, a.channels, of_weight, of_bias, a.sums + int64_t{blockIdx.x} * 2 * a.channels);
}

__device__ float block_sum(float x) {
  __shared__ float of_warps[kWarps];
  x = warp_sum(x);
  __syncthreads();  // the last sum has been read
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = x;
  __syncthreads();
  float sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warps[warp];
  return sum;
}

template <class Value>
__device__ float channel_sum(int channels, Value value) {
  float sum = 0;
  for (int c = threadIdx.x; c < channels; c += kThreads) sum += value(c);
  return block_sum(sum);
}

// Any number of channels, a block a row; the row is read again from the cache.
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
  const auto g = [&](int c) { return to_float(a.dy[begin + c]) * to_float(a.weight[c]); };
  const float of_sum = kCentred ? channel_sum(a.channels, g) / count : 0.f;
  const float of_product = channel_sum(a.channels, [&](int c) { return g(c) * n(c); }) / count;
  for (int c = threadIdx.x; c < a.channels; c += kThreads) {
    float dx = scale * (g(c) - of_sum - n(c) * of_product);
    if (a.more != nullptr) dx += to_float(a.more[begin + c]);
    a.dx[begin + c] = from_float<T>(dx);
  }
}

// A thread a channel; block y of kBlocks adds up every kBlocks-th row.
template <class T, bool kCentred>
__global__ void __launch_bounds__(kThreads) general_sums_kernel(Backward<T> a) {
  const int c = blockIdx.x * kThreads + threadIdx.x;
  if (c >= a.channels) return;
  float of_weight = 0, of_bias = 0;
  for (int64_t row = blockIdx.y; row < a.rows; row += kBlocks) {
    const float dy = to_float(a.dy[row * a.channels + c]);
    const float mean = kCentred ? a.mean[row] : 0.f;
    of_weight += dy * (to_float(a.x[row * a.channels + c]) - mean) * a.scale[row];
    of_bias += dy;
  }
  float* to = a.sums + int64_t{blockIdx.y} * 2 * a.channels;
  to[c] = of_weight;
  to[a.channels + c] = of_bias;
}

// The blocks' sums become dweight and dbias. A warp adds up 32 neighbours over an eighth of the
// blocks each.
template <class T>
__global__ void __launch_bounds__(kThreads)
    sum_kernel(const float* sums, int channels, T* dweight, T* dbias) {
  __shared__ float parts[kWarps][kLanes];
  const int lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const int i = blockIdx.x * kLanes + lane;
  float part = 0;
  if (i < 2 * channels) {
    for (int block = warp; block < kBlocks; block += kWarps) {
      part += sums[int64_t{block} * 2 * channels + i];
    }
  }
  parts[warp][lane] = part;
  __syncthreads();
  if (warp > 0 || i >= 2 * channels) return;
  float sum = 0;
  for (int each = 0; each < kWarps; ++each) sum += parts[each][lane];
  if (i < channels) {
    dweight[i] = from_float<T>(sum);
  } else if (dbias != nullptr) {
    dbias[i - channels] = from_float<T>(sum);
  }
}

// Calls use(constant<P>), P packs a lane: 0 where rows do not divide into packs or are too long.
template <class Use>
void with_packs(int64_t channels, bool aligned, Use use) {
  const int64_t packs = ceil_div<int64_t>(channels, kPack * kLanes);
  if (!aligned || channels % kPack != 0 || packs > kMostPacks) {
    return use(std::integral_constant<int, 0>{});
  }
  if (packs == 1) return use(std::integral_constant<int, 1>{});
  if (packs == 2) return use(std::integral_constant<int, 2>{});
  if (packs == 3) return use(std::integral_constant<int, 3>{});
  use(std::integral_constant<int, 4>{});
}

template <class T, bool kCentred>
void forward(const NormShape& shape, const NormForward& arrays, cudaStream_t stream) {
  const Forward<T> a{shape.rows,
                     static_cast<int>(shape.channels),
                     shape.eps,
                     static_cast<const T*>(arrays.x),
                     static_cast<const T*>(arrays.weight),
                     static_cast<const T*>(arrays.bias),
                     static_cast<const T*>(arrays.residual),
                     static_cast<T*>(arrays.y),
                     arrays.mean,
                     arrays.scale};
  const bool aligned = is_aligned(a.x) && is_aligned(a.weight) && is_aligned(a.bias) &&
                       is_aligned(a.residual) && is_aligned(a.y);
  with_packs(shape.channels, aligned, [&](auto packs) {
    if constexpr (packs.value == 0) {
      general_forward_kernel<T, kCentred><<<grid_of(shape.rows, "norm"), kThreads, 0, stream>>>(a);
    } else {
      forward_kernel<T, kCentred, packs.value>
          <<<grid_of(ceil_div<int64_t>(shape.rows, kWarps), "norm"), kThreads, 0, stream>>>(a);
    }
  });
  check_launch("norm_forward");
}

template <class T, bool kCentred>
void backward(const NormShape& shape, const NormBackward& arrays, cudaStream_t stream) {
  const int channels = static_cast<int>(shape.channels);
  const Backward<T> a{shape.rows,
                      channels,
                      static_cast<const T*>(arrays.x),
                      static_cast<const T*>(arrays.weight),
                      arrays.mean,
                      arrays.scale,
                      static_cast<const T*>(arrays.dy),
                      static_cast<const T*>(arrays.more),
                      static_cast<T*>(arrays.dx),
                      static_cast<float*>(arrays.workspace)};
  const bool aligned = is_aligned(a.x) && is_aligned(a.weight) && is_aligned(a.dy) &&
                       is_aligned(a.more) && is_aligned(a.dx);
  with_packs(shape.channels, aligned, [&](auto packs) {
    if constexpr (packs.value == 0) {
      if (shape.rows > 0) {
        general_dx_kernel<T, kCentred><<<grid_of(shape.rows, "norm"), kThreads, 0, stream>>>(a);
      }
      const dim3 grid(ceil_div(channels, kThreads), kBlocks);
      general_sums_kernel<T, kCentred><<<grid, kThreads, 0, stream>>>(a);
    } else {
      backward_kernel<T, kCentred, packs.value>
          <<<kBlocks, kThreads, 2 * channels * sizeof(float), stream>>>(a);
    }
  });
  sum_kernel<T><<<ceil_div(2 * channels, kLanes), kThreads, 0, stream>>>(
      a.sums, channels, static_cast<T*>(arrays.dweight), static_cast<T*>(arrays.dbias));
  check_launch("norm_backward");
}

}  // namespace

void norm_forward_cuda(const NormShape& shape, const NormForward& arrays, Stream stream) {
  if (shape.rows == 0 || shape.channels == 0) return;
  with_type(shape.type, [&](auto type) {
    with_bool(shape.centred, [&](auto centred) {
      forward<decltype(type), centred.value>(shape, arrays, static_cast<cudaStream_t>(stream));
    });
  });
}

void norm_backward_cuda(const NormShape& shape, const NormBackward& arrays, Stream stream) {
  if (shape.channels == 0) return;
  with_type(shape.type, [&](auto type) {
    with_bool(shape.centred, [&](auto centred) {
      backward<decltype(type), centred.value>(shape, arrays, static_cast<cudaStream_t>(stream));
    });
  });
}

size_t norm_backward_workspace_cuda(const NormShape& shape) {
  return static_cast<size_t>(kBlocks) * 2 * shape.channels * sizeof(float);
}

}  // namespace convseq::kernels
