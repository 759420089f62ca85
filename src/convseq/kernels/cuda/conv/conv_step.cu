#include "convseq/kernels/cuda/capture.h"
#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/conv/tap_softmax.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int kLoads = 8;  // of past inputs, in flight at once

struct StepShape {
  int64_t batch;
  int channels;
  int heads;
  int kernel;
  int dilation;
  bool glu;
  int64_t position;
  int64_t tap_stride;  // from one row to the next; 0: all rows share one set
  bool softmax;        // apply a softmax to the taps
  bool prefetches;     // the kernel ahead writes neither positions nor ring
};

// V neighbouring channels of x, or their gated linear unit, rounded as a separate kernel would
// store it.
template <int V, class T>
__device__ Pack<T, V> step_input(const StepShape& shape, const T* x, int64_t row, int channel) {
  if (!shape.glu) return load_pack<T, V>(x + row * shape.channels + channel);
  const T* from = x + row * 2 * shape.channels + channel;
  float values[V], gates[V];
  load_values(from, values);
  load_values(from + shape.channels, gates);
#pragma unroll
  for (int v = 0; v < V; ++v) values[v] *= sigmoid(gates[v]);
  return pack_values<T, V>(values);
}

// V channels of one head and row per thread: no other thread accesses their slots of the ring
// buffer.
template <class T, class Tap, int V>
__global__ void __launch_bounds__(kThreads)
    conv_step_kernel(StepShape shape, const int64_t* positions, const T* x, const Tap* taps,
                     T* ring, T* y) {
  if (!shape.prefetches) grid_dependency_wait();
  const int64_t index = (int64_t{blockIdx.x} * kThreads + threadIdx.x) * V;
  if (index >= shape.batch * shape.channels) return;
  const int64_t row = index / shape.channels;
  const int channel = static_cast<int>(index % shape.channels);
  const int past = shape.kernel - 1;
  const int64_t position = positions == nullptr ? shape.position : positions[row];
  const int64_t slots = int64_t{past} * shape.dilation;
  const int64_t slot = slots == 0 ? 0 : position % slots;
  T* own_ring = ring + row * slots * shape.channels + channel;
  Pack<T, V> values[kLoads];
  const auto load_past = [&](int first) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int64_t back = int64_t{past - first - i} * shape.dilation;
      values[i] = {};
      if (back <= 0 || back > position) continue;  // no tap, or before the sequence
      const int64_t from = back > slot ? slot - back + slots : slot - back;
      values[i] = load_pack<T, V>(own_ring + from * shape.channels);
    }
  };
  load_past(0);
  if (shape.prefetches) grid_dependency_wait();

  const int head = channel / (shape.channels / shape.heads);
  const TapSet<Tap> own(taps + row * shape.tap_stride + head * shape.kernel, shape.kernel,
                        shape.softmax);
  const Pack<T, V> now = step_input<V>(shape, x, row, channel);
  float sums[V] = {};
  const auto add = [&](float tap, const Pack<T, V>& pack) {
#pragma unroll
    for (int v = 0; v < V; ++v) sums[v] += tap * to_float(pack.values[v]);
  };
  for (int first = 0; first < past; first += kLoads) {
    if (first > 0) load_past(first);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (first + i < past) add(own.at(first + i), values[i]);
    }
  }
  add(own.at(past), now);
  store_values(y + index, sums);
  if (slots > 0) *reinterpret_cast<Pack<T, V>*>(own_ring + slot * shape.channels) = now;
}

template <class T, class Tap, int V>
void launch_channels(const StepShape& step, const ConvStep& arrays, const Tap* taps,
                     cudaStream_t stream) {
  const auto kernel = conv_step_kernel<T, Tap, V>;
  const unsigned blocks =
      checked_grid(ceil_div<int64_t>(step.batch * step.channels, kThreads * V), "conv_step");
  launch_dependent(kernel, blocks, kThreads, 0, stream, step, arrays.positions,
                   static_cast<const T*>(arrays.x), taps, static_cast<T*>(arrays.ring),
                   static_cast<T*>(arrays.y));
}

template <class T, class Tap>
void launch_step(const ConvShape& shape, const ConvStep& arrays, const Tap* taps, bool shared,
                 cudaStream_t stream) {
  constexpr int kPack = 4;
  const StepShape step{shape.batch,
                       static_cast<int>(shape.channels),
                       static_cast<int>(shape.heads),
                       static_cast<int>(shape.kernel),
                       static_cast<int>(shape.dilation),
                       shape.glu,
                       arrays.position,
                       shared ? 0 : stride_of(shape, arrays.dynamic_taps),
                       !shared && arrays.dynamic_taps.softmax,
                       arrays.positions != nullptr && is_capturing(stream)};
  const bool packed = shape.channels / shape.heads % kPack == 0 && is_aligned(arrays.x) &&
                      is_aligned(arrays.ring) && is_aligned(arrays.y);
  packed ? launch_channels<T, Tap, kPack>(step, arrays, taps, stream)
         : launch_channels<T, Tap, 1>(step, arrays, taps, stream);
}

}  // namespace

void conv_step_cuda(const ConvShape& shape, const ConvStep& arrays, Stream stream) {
  check_conv_cuda(shape, "conv_step");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    if (arrays.static_taps != nullptr) {
      return launch_step<T>(shape, arrays, arrays.static_taps, true, cuda_stream);
    }
    check_dynamic_taps_cuda(shape, arrays.dynamic_taps, "conv_step");
    with_type(arrays.dynamic_taps.type, [&](auto tap) {
      launch_step<T>(shape, arrays, static_cast<const decltype(tap)*>(arrays.dynamic_taps.values),
                     false, cuda_stream);
    });
  });
  check_launch("conv_step");
}

}  // namespace convseq::kernels
