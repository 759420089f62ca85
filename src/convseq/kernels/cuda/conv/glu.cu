#include "convseq/kernels/cuda/common.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 256;

// The coordinates of a thread's V values: row of [B·T], channel.
struct GluCoord {
  int64_t row;
  int channel;
  bool inside;
  bool real;  // not padding
};

struct GluShape {
  int64_t rows;
  int time;
  int channels;
  const int64_t* lengths;

  template <int V>
  __device__ GluCoord coord() const {
    const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
    const int packs = channels / V;
    const int64_t row = index / packs;
    if (row >= rows) return {0, 0, false, false};
    const int length = real_length(lengths, static_cast<int>(row / time), time);
    return {row, static_cast<int>(index % packs) * V, true, row % time < length};
  }
};

template <class T, int V>
__global__ void __launch_bounds__(kThreads) glu_forward_kernel(GluShape shape, const T* x, T* y) {
  const GluCoord coord = shape.coord<V>();
  if (!coord.inside) return;
  float value[V] = {};
  if (coord.real) {
    const T* from = x + coord.row * 2 * shape.channels + coord.channel;
    float gate[V];
    load_values(from, value);
    load_values(from + shape.channels, gate);
#pragma unroll
    for (int v = 0; v < V; ++v) value[v] *= sigmoid(gate[v]);
  }
  store_values(y + coord.row * shape.channels + coord.channel, value);
}

template <class T, int V>
__global__ void __launch_bounds__(kThreads)
    glu_backward_kernel(GluShape shape, const T* x, const T* dy, T* dx) {
  const GluCoord coord = shape.coord<V>();
  if (!coord.inside) return;
  const int64_t at = coord.row * 2 * shape.channels + coord.channel;
  float of_value[V] = {}, of_gate[V] = {};
  if (coord.real) {
    float value[V], gate[V], gradient[V];
    load_values(x + at, value);
    load_values(x + at + shape.channels, gate);
    load_values(dy + coord.row * shape.channels + coord.channel, gradient);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      const float sigma = sigmoid(gate[v]);
      of_value[v] = gradient[v] * sigma;
      of_gate[v] = gradient[v] * value[v] * sigma * (1.f - sigma);
    }
  }
  store_values(dx + at, of_value);
  store_values(dx + at + shape.channels, of_gate);
}

GluShape glu_shape(const ConvShape& shape, const int64_t* lengths) {
  return {shape.batch * shape.time, static_cast<int>(shape.time), static_cast<int>(shape.channels),
          lengths};
}

// Calls use(T{}, constant<V>, blocks): 16 bytes per thread where rows are divisible by that.
template <class Use>
void with_pack(const ConvShape& shape, bool aligned, const char* what, Use use) {
  with_type(shape.type, [&](auto type) {
    constexpr int kPack = 16 / sizeof(type);
    with_bool(aligned && shape.channels % kPack == 0, [&](auto packed) {
      constexpr int V = packed.value ? kPack : 1;
      const int64_t threads = shape.batch * shape.time * (shape.channels / V);
      use(type, std::integral_constant<int, V>{},
          checked_grid(ceil_div<int64_t>(threads, kThreads), what));
    });
  });
}

}  // namespace

void glu_forward_cuda(const ConvShape& shape, const ConvForward& arrays, Stream stream) {
  check_glu_cuda(shape, "glu_forward");
  if (is_empty(shape)) return;
  const bool aligned = is_aligned(arrays.x) && is_aligned(arrays.y);
  with_pack(shape, aligned, "glu_forward", [&](auto type, auto pack, unsigned blocks) {
    using T = decltype(type);
    glu_forward_kernel<T, pack.value><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        glu_shape(shape, arrays.lengths), static_cast<const T*>(arrays.x),
        static_cast<T*>(arrays.y));
  });
  check_launch("glu_forward");
}

void glu_backward_cuda(const ConvShape& shape, const ConvBackward& arrays, Stream stream) {
  check_glu_cuda(shape, "glu_backward");
  if (is_empty(shape)) return;
  const bool aligned = is_aligned(arrays.x) && is_aligned(arrays.dy) && is_aligned(arrays.dx);
  with_pack(shape, aligned, "glu_backward", [&](auto type, auto pack, unsigned blocks) {
    using T = decltype(type);
    glu_backward_kernel<T, pack.value><<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
        glu_shape(shape, arrays.lengths), static_cast<const T*>(arrays.x),
        static_cast<const T*>(arrays.dy), static_cast<T*>(arrays.dx));
  });
  check_launch("glu_backward");
}

}  // namespace convseq::kernels
