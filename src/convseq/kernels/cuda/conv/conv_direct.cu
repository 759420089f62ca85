#include <algorithm>

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kSlices = 32;  // blocks per sum of one tap

struct DirectShape {
  int64_t batch;
  int time;
  int channels;
  int heads;
  int kernel;
  int dilation;
  int left;

  explicit DirectShape(const ConvShape& shape)
      : batch(shape.batch),
        time(static_cast<int>(shape.time)),
        channels(static_cast<int>(shape.channels)),
        heads(static_cast<int>(shape.heads)),
        kernel(static_cast<int>(shape.kernel)),
        dilation(static_cast<int>(shape.dilation)),
        left(static_cast<int>(shape.left)) {}
};

struct OutputCoord {
  int batch;
  int position;
  int channel;
};

__device__ OutputCoord coord_of(const DirectShape& shape, int64_t index) {
  const int64_t row = index / shape.channels;
  return {static_cast<int>(row / shape.time), static_cast<int>(row % shape.time),
          static_cast<int>(index % shape.channels)};
}

// The input of the convolution, gated or not, zero where padded.
template <class T, bool kGlu>
struct Input {
  const T* x;
  const int64_t* lengths;

  __device__ float at(const DirectShape& shape, int batch, int position, int channel) const {
    if (position < 0 || position >= real_length(lengths, batch, shape.time)) return 0;
    const int64_t row = int64_t{batch} * shape.time + position;
    if constexpr (kGlu) {
      const T* from = x + row * 2 * shape.channels + channel;
      return to_float(from[0]) * sigmoid(to_float(from[shape.channels]));
    } else {
      return to_float(x[row * shape.channels + channel]);
    }
  }
};

template <class T, bool kGlu>
__global__ void direct_forward_kernel(DirectShape shape, Input<T, kGlu> input, const float* taps,
                                      T* y) {
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= shape.batch * shape.time * shape.channels) return;
  const OutputCoord coord = coord_of(shape, index);
  const float* own = taps + coord.channel / (shape.channels / shape.heads) * shape.kernel;
  float sum = 0;
  for (int j = 0; j < shape.kernel; ++j) {
    const int position = coord.position - shape.left + j * shape.dilation;
    sum += own[j] * input.at(shape, coord.batch, position, coord.channel);
  }
  y[index] = from_float<T>(sum);
}

// Stores the gradient of the two halves of the gate, or of the input itself.
template <class T, bool kGlu>
__device__ void store_input_gradient(const DirectShape& shape, const T* x, T* dx, int64_t index,
                                     bool real, float gradient) {
  if constexpr (kGlu) {
    const int64_t at = index / shape.channels * 2 * shape.channels + index % shape.channels;
    const float value = to_float(x[at]);
    const float sigma = sigmoid(to_float(x[at + shape.channels]));
    dx[at] = from_float<T>(real ? gradient * sigma : 0.f);
    dx[at + shape.channels] = from_float<T>(real ? gradient * value * sigma * (1.f - sigma) : 0.f);
  } else {
    dx[index] = from_float<T>(real ? gradient : 0.f);
  }
}

template <class T, bool kGlu>
__global__ void direct_input_gradient_kernel(DirectShape shape, Input<T, kGlu> input,
                                             const float* taps, const T* dy, T* dx) {
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= shape.batch * shape.time * shape.channels) return;
  const OutputCoord coord = coord_of(shape, index);
  const bool real = coord.position < real_length(input.lengths, coord.batch, shape.time);
  const float* own = taps + coord.channel / (shape.channels / shape.heads) * shape.kernel;
  const int64_t sequence = int64_t{coord.batch} * shape.time;
  float sum = 0;
  for (int j = 0; real && j < shape.kernel; ++j) {
    const int position = coord.position + shape.left - j * shape.dilation;
    if (position < 0 || position >= shape.time) continue;
    sum += own[j] * to_float(dy[(sequence + position) * shape.channels + coord.channel]);
  }
  store_input_gradient<T, kGlu>(shape, input.x, dx, index, real, sum);
}

// A block sums one tap of one head over one slice of the rows.
template <class T, bool kGlu>
__global__ void direct_tap_gradient_kernel(DirectShape shape, Input<T, kGlu> input, const T* dy,
                                           int slices, float* partial) {
  const int head = blockIdx.x % shape.heads;
  const int tap = blockIdx.x / shape.heads % shape.kernel;
  const int slice = blockIdx.x / shape.heads / shape.kernel;
  const int width = shape.channels / shape.heads;
  const int64_t rows = shape.batch * shape.time;
  const int64_t first = rows * slice / slices;
  const int64_t count = (rows * (slice + 1) / slices - first) * width;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += kThreads) {
    const int64_t row = first + i / width;
    const int channel = head * width + static_cast<int>(i % width);
    const int position = static_cast<int>(row % shape.time) - shape.left + tap * shape.dilation;
    sum += to_float(dy[row * shape.channels + channel]) *
           input.at(shape, static_cast<int>(row / shape.time), position, channel);
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;  // [slices, k, heads]
}

constexpr int kColumns = 32;  // taps per block below, and threads per tap

__global__ void __launch_bounds__(kColumns* kColumns)
    sum_partials_kernel(const float* partial, int64_t slices, int groups, int heads, int kernel,
                        float* dtaps) {
  grid_dependency_wait();
  __shared__ float sums[kColumns][kColumns + 1];
  const int column = threadIdx.x % kColumns;
  const int slot = threadIdx.x / kColumns;
  const int width = groups / heads;
  const int output = blockIdx.x * kColumns + column;  // tap · heads + head
  float sum = 0;
  if (output < heads * kernel) {
    const int64_t first = int64_t{output} * width;
    for (int64_t slice = slot; slice < slices; slice += kColumns) {
      const float* from = partial + slice * kernel * groups + first;
      for (int g = 0; g < width; ++g) sum += from[g];
    }
  }
  sums[slot][column] = sum;
  __syncthreads();
  if (slot != 0 || output >= heads * kernel) return;
  sum = 0;
#pragma unroll
  for (int i = 0; i < kColumns; ++i) sum += sums[i][column];
  dtaps[output % heads * kernel + output / heads] = sum;
}

int64_t slice_count(const ConvShape& shape) {
  return std::min(kSlices, std::max<int64_t>(shape.batch * shape.time, 1));
}

}  // namespace

void direct_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream) {
  const int64_t outputs = shape.batch * shape.time * shape.channels;
  const unsigned blocks = checked_grid(ceil_div<int64_t>(outputs, kThreads), "conv_forward");
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    with_bool(shape.glu, [&](auto glu) {
      const Input<T, glu.value> input{static_cast<const T*>(arrays.x), arrays.lengths};
      direct_forward_kernel<<<blocks, kThreads, 0, stream>>>(DirectShape(shape), input, arrays.taps,
                                                             static_cast<T*>(arrays.y));
    });
  });
}

void direct_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  const int64_t outputs = shape.batch * shape.time * shape.channels;
  const unsigned blocks = checked_grid(ceil_div<int64_t>(outputs, kThreads), "conv_backward");
  const int64_t slices = slice_count(shape);
  const unsigned tap_blocks = checked_grid(slices * shape.kernel * shape.heads, "conv_backward");
  auto* partial = static_cast<float*>(arrays.workspace);
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    with_bool(shape.glu, [&](auto glu) {
      const Input<T, glu.value> input{static_cast<const T*>(arrays.x), arrays.lengths};
      const auto* dy = static_cast<const T*>(arrays.dy);
      direct_input_gradient_kernel<<<blocks, kThreads, 0, stream>>>(
          DirectShape(shape), input, arrays.taps, dy, static_cast<T*>(arrays.dx));
      direct_tap_gradient_kernel<<<tap_blocks, kThreads, 0, stream>>>(
          DirectShape(shape), input, dy, static_cast<int>(slices), partial);
    });
  });
  sum_tap_partials(shape, partial, slices, shape.heads, arrays.dtaps, stream);
}

size_t direct_backward_workspace(const ConvShape& shape) {
  return static_cast<size_t>(slice_count(shape) * shape.kernel * shape.heads) * sizeof(float);
}

void sum_tap_partials(const ConvShape& shape, const float* partial, int64_t slices, int64_t groups,
                      float* dtaps, cudaStream_t stream) {
  const unsigned blocks =
      checked_grid(ceil_div<int64_t>(shape.heads * shape.kernel, kColumns), "conv_backward");
  launch_dependent(sum_partials_kernel, blocks, kColumns * kColumns, 0, stream, partial, slices,
                   static_cast<int>(groups), static_cast<int>(shape.heads),
                   static_cast<int>(shape.kernel), dtaps);
}

}  // namespace convseq::kernels
