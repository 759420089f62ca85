#include "kernels/cuda_common.cuh"
#include "kernels/tap_softmax.cuh"

namespace convseq::kernels {
namespace {

constexpr int kThreads = 128;

struct StepShape {
  int64_t batch;
  int channels;
  int heads;
  int kernel;
  int dilation;
  int64_t position;
  bool shared;   // one set of taps for the whole batch
  bool softmax;  // of the taps given
};

// One channel of one row a thread: no other reads or writes its slots of the ring.
template <class T, class Tap>
__global__ void __launch_bounds__(kThreads)
    conv_step_kernel(StepShape shape, const T* x, const Tap* taps, T* ring, T* y) {
  const int64_t index = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (index >= shape.batch * shape.channels) return;
  const int64_t row = index / shape.channels;
  const int channel = static_cast<int>(index % shape.channels);
  const int head = channel / (shape.channels / shape.heads);
  const int64_t set = shape.shared ? head : row * shape.heads + head;
  const TapSet<Tap> own(taps + set * shape.kernel, shape.kernel, shape.softmax);

  const int64_t slots = int64_t{shape.kernel - 1} * shape.dilation;
  T* own_ring = ring + row * slots * shape.channels + channel;
  float sum = 0;
  for (int j = 0; j + 1 < shape.kernel; ++j) {
    const int64_t position = shape.position - int64_t{shape.kernel - 1 - j} * shape.dilation;
    if (position < 0) continue;  // before the sequence
    sum += own.at(j) * to_float(own_ring[position % slots * shape.channels]);
  }
  const T now = x[index];
  y[index] = from_float<T>(sum + own.at(shape.kernel - 1) * to_float(now));
  if (slots > 0) own_ring[shape.position % slots * shape.channels] = now;
}

template <class T, class Tap>
void launch_step(const ConvShape& shape, const ConvStep& arrays, const Tap* taps, bool shared,
                 cudaStream_t stream) {
  const unsigned blocks =
      grid_of(ceil_div<int64_t>(shape.batch * shape.channels, kThreads), "conv_step");
  const StepShape step{shape.batch,
                       static_cast<int>(shape.channels),
                       static_cast<int>(shape.heads),
                       static_cast<int>(shape.kernel),
                       static_cast<int>(shape.dilation),
                       arrays.position,
                       shared,
                       !shared && arrays.dynamic_taps.softmax};
  conv_step_kernel<T, Tap><<<blocks, kThreads, 0, stream>>>(step, static_cast<const T*>(arrays.x),
                                                            taps, static_cast<T*>(arrays.ring),
                                                            static_cast<T*>(arrays.y));
}

}  // namespace

void conv_step_cuda(const ConvShape& shape, const ConvStep& arrays, Stream stream) {
  check_conv(shape, "conv_step");
  if (is_empty(shape)) return;
  const auto cuda_stream = static_cast<cudaStream_t>(stream);
  with_type(shape.type, [&](auto type) {
    using T = decltype(type);
    if (arrays.static_taps != nullptr) {
      return launch_step<T>(shape, arrays, arrays.static_taps, true, cuda_stream);
    }
    with_type(arrays.dynamic_taps.type, [&](auto tap) {
      launch_step<T>(shape, arrays, static_cast<const decltype(tap)*>(arrays.dynamic_taps.values),
                     false, cuda_stream);
    });
  });
  check_launch("conv_step");
}

}  // namespace convseq::kernels
