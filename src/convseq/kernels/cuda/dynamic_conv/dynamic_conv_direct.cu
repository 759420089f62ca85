#include <algorithm>

#include "convseq/kernels/cuda/conv/tap_softmax.cuh"
#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_direct.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 32;  // positions of a block
constexpr size_t kMaxBytes = 160 * 1024;

struct DynamicShape {
  int time;
  int channels;
  int heads;
  int width;  // channels of a head
  int kernel;
  int dilation;
  int left;
  int tiles;
  int tap_stride;
  bool softmax;

  __host__ __device__ int reach() const { return (kernel - 1) * dilation; }
};

struct DynamicBlock {
  int head;
  int first;         // position
  int last;          // one past
  int64_t sequence;  // row of its first position in [B·T]

  __device__ explicit DynamicBlock(const DynamicShape& shape)
      : head(blockIdx.x % shape.heads), first(blockIdx.x / shape.heads % shape.tiles * kRows) {
    last = min(first + kRows, shape.time);
    sequence = int64_t{blockIdx.x / shape.heads / shape.tiles} * shape.time;
  }
  template <class Tap>
  __device__ const Tap* taps(const DynamicShape& shape, const Tap* all, int position) const {
    return all + (sequence + position) * shape.tap_stride + head * shape.kernel;
  }
  __device__ int64_t at(const DynamicShape& shape, int position, int channel) const {
    return (sequence + position) * shape.channels + head * shape.width + channel;
  }
};

// The scales of positions first .. last − 1, one per thread.
template <class Tap>
__device__ void load_scales(const DynamicShape& shape, const DynamicBlock& block, const Tap* taps,
                            int first, int last, TapScale* scales) {
  for (int i = first + threadIdx.x; shape.softmax && i < last; i += kThreads) {
    scales[i - first] = tap_scale(block.taps(shape, taps, i), shape.kernel);
  }
  __syncthreads();
}

template <class T, class Tap>
__global__ void __launch_bounds__(kThreads)
    dynamic_forward_kernel(DynamicShape shape, const T* x, const Tap* taps, T* y) {
  __shared__ TapScale scales[kRows];
  const DynamicBlock block(shape);
  load_scales(shape, block, taps, block.first, block.last, scales);
  for (int n = threadIdx.x; n < (block.last - block.first) * shape.width; n += kThreads) {
    const int i = block.first + n / shape.width;
    const int channel = n % shape.width;
    const TapSet<Tap> own(block.taps(shape, taps, i), shape.softmax, scales[i - block.first]);
    float sum = 0;
    for (int j = 0; j < shape.kernel; ++j) {
      const int s = i - shape.left + j * shape.dilation;
      if (s < 0 || s >= shape.time) continue;
      sum += own.at(j) * to_float(x[block.at(shape, s, channel)]);
    }
    y[block.at(shape, i, channel)] = from_float<T>(sum);
  }
}

// dx[s] = sum_j taps[i][j] · dy[i] where i = s + left − j · dilation.
template <class T, class Tap>
__global__ void __launch_bounds__(kThreads)
    dynamic_input_gradient_kernel(DynamicShape shape, const Tap* taps, const T* dy, T* dx) {
  extern __shared__ TapScale reached[];
  const DynamicBlock block(shape);
  const int first = max(block.first + shape.left - shape.reach(), 0);
  const int last = min(block.last + shape.left, shape.time);
  load_scales(shape, block, taps, first, last, reached);
  for (int n = threadIdx.x; n < (block.last - block.first) * shape.width; n += kThreads) {
    const int s = block.first + n / shape.width;
    const int channel = n % shape.width;
    float sum = 0;
    for (int j = 0; j < shape.kernel; ++j) {
      const int i = s + shape.left - j * shape.dilation;
      if (i < 0 || i >= shape.time) continue;
      const TapScale scale = shape.softmax ? reached[i - first] : TapScale{};
      const TapSet<Tap> own(block.taps(shape, taps, i), shape.softmax, scale);
      sum += own.at(j) * to_float(dy[block.at(shape, i, channel)]);
    }
    dx[block.at(shape, s, channel)] = from_float<T>(sum);
  }
}

// One warp computes the gradient of the taps of one position: d[j] = dy[i] · x[s], and with a
// softmax p[j] · (d[j] − sum_l p[l] · d[l]).
template <class T, class Tap>
__device__ void tap_gradient(const DynamicShape& shape, const DynamicBlock& block, int i,
                             const T* x, const Tap* taps, const T* dy, float* gradients,
                             Tap* dtaps) {
  const int lane = threadIdx.x % kLanes;
  const TapSet<Tap> own(block.taps(shape, taps, i), shape.kernel, shape.softmax);
  float dot = 0;
  for (int j = 0; j < shape.kernel; ++j) {
    const int s = i - shape.left + j * shape.dilation;
    float gradient = 0;
    for (int c = lane; s >= 0 && s < shape.time && c < shape.width; c += kLanes) {
      gradient += to_float(dy[block.at(shape, i, c)]) * to_float(x[block.at(shape, s, c)]);
    }
    gradient = warp_sum(gradient);
    if (lane == 0) gradients[j] = gradient;
    dot += own.at(j) * gradient;
  }
  __syncwarp();
  Tap* to = dtaps + (block.taps(shape, taps, i) - taps);
  for (int j = lane; j < shape.kernel; j += kLanes) {
    to[j] = from_float<Tap>(shape.softmax ? own.at(j) * (gradients[j] - dot) : gradients[j]);
  }
  __syncwarp();
}

template <class T, class Tap>
__global__ void __launch_bounds__(kThreads)
    dynamic_tap_gradient_kernel(DynamicShape shape, const T* x, const Tap* taps, const T* dy,
                                Tap* dtaps) {
  __shared__ float gradients[kThreads / kLanes][256];
  const DynamicBlock block(shape);
  const int warp = threadIdx.x / kLanes;
  for (int i = block.first + warp; i < block.last; i += kThreads / kLanes) {
    tap_gradient(shape, block, i, x, taps, dy, gradients[warp], dtaps);
  }
}

DynamicShape dynamic_shape(const ConvShape& shape, const DynamicTaps& taps) {
  DynamicShape made{};
  made.time = static_cast<int>(shape.time);
  made.channels = static_cast<int>(shape.channels);
  made.heads = static_cast<int>(shape.heads);
  made.width = made.channels / made.heads;
  made.kernel = static_cast<int>(shape.kernel);
  made.dilation = static_cast<int>(shape.dilation);
  made.left = static_cast<int>(shape.left);
  made.tiles = ceil_div(made.time, kRows);
  made.tap_stride = static_cast<int>(stride_of(shape, taps));
  made.softmax = taps.softmax;
  return made;
}

unsigned dynamic_grid(const ConvShape& shape, const DynamicShape& made, const char* what) {
  return checked_grid(shape.batch * made.tiles * made.heads, what);
}

// The bytes for the scales of all positions that read a block's inputs.
size_t scale_bytes(const ConvShape& shape, const DynamicShape& made) {
  if (!made.softmax) return 0;
  const int64_t positions =
      std::min<int64_t>(kRows + (shape.kernel - 1) * shape.dilation, shape.time);
  const size_t bytes = static_cast<size_t>(positions) * sizeof(TapScale);
  if (bytes > kMaxBytes) {
    fail_shared_memory(shape, "dynamic_conv_backward", kMaxBytes / sizeof(TapScale));
  }
  return bytes;
}

}  // namespace

void direct_dynamic_forward(const ConvShape& shape, const DynamicConvForward& arrays,
                            cudaStream_t stream) {
  const DynamicShape made = dynamic_shape(shape, arrays.taps);
  const unsigned blocks = dynamic_grid(shape, made, "dynamic_conv_forward");
  with_type(shape.type, [&](auto type) {
    with_type(arrays.taps.type, [&](auto tap) {
      using T = decltype(type);
      using Tap = decltype(tap);
      dynamic_forward_kernel<T, Tap><<<blocks, kThreads, 0, stream>>>(
          made, static_cast<const T*>(arrays.x), static_cast<const Tap*>(arrays.taps.values),
          static_cast<T*>(arrays.y));
    });
  });
}

void direct_dynamic_backward(const ConvShape& shape, const DynamicConvBackward& arrays,
                             cudaStream_t stream) {
  const DynamicShape made = dynamic_shape(shape, arrays.taps);
  const unsigned blocks = dynamic_grid(shape, made, "dynamic_conv_backward");
  const size_t bytes = scale_bytes(shape, made);
  with_type(shape.type, [&](auto type) {
    with_type(arrays.taps.type, [&](auto tap) {
      using T = decltype(type);
      using Tap = decltype(tap);
      const auto* x = static_cast<const T*>(arrays.x);
      const auto* taps = static_cast<const Tap*>(arrays.taps.values);
      const auto* dy = static_cast<const T*>(arrays.dy);
      const auto input_gradient = dynamic_input_gradient_kernel<T, Tap>;
      allow_shared_memory(input_gradient, bytes);
      input_gradient<<<blocks, kThreads, bytes, stream>>>(made, taps, dy,
                                                          static_cast<T*>(arrays.dx));
      dynamic_tap_gradient_kernel<T, Tap>
          <<<blocks, kThreads, 0, stream>>>(made, x, taps, dy, static_cast<Tap*>(arrays.dtaps));
    });
  });
}

}  // namespace convseq::kernels
