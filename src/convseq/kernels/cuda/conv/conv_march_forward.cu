#include "convseq/kernels/cuda/conv/conv_march.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"

namespace convseq::kernels {
namespace {

// Without the gates, segments of a third of 512 rows were faster than those of a half or a quarter.
template <int kKernel, bool kGlu>
using MarchForwardWork =
    std::conditional_t<kGlu || (kKernel > 7), MarchWork<kKernel <= 7 ? 8 : 4, 4, kGlu ? 2 : 3, 3>,
                       MarchWork<4, 2, 3, 10, 171>>;

template <class Work, int kKernel, bool kGlu>
using MarchForwardMemory = MarchMemory<Work, kKernel, kGlu ? 2 : 1>;

struct MarchForwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  bf16* y;
};

template <class Work, int kKernel, bool kGlu>
__global__ void __launch_bounds__(Work::kThreads, Work::kBlocksAtOnce)
    march_forward_kernel(MarchShape shape, MarchForwardArrays arrays) {
  using Memory = MarchForwardMemory<Work, kKernel, kGlu>;
  constexpr int kChannels = Work::kChannels;
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  typename Memory::Ring ring(shared_memory);
  const March<Work> own(shape);
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{own.batch} * shape.time;
  const int real = real_length(arrays.lengths, own.batch, shape.time);
  const MarchRows inputs(arrays.x + sequence * pitch + own.channel, pitch, shape.dilation,
                         own.first - shape.left, own.rows == 0 ? 0 : own.rows + kKernel - 1, real);
  MarchRows gates = inputs;
  gates.start += shape.channels;
  bf16* y = arrays.y + (sequence + own.first) * shape.channels + own.channel;
  const int64_t y_pitch = int64_t{shape.channels} * shape.dilation;

  const auto load = [&](int stage) {
    ring.load(0, inputs, stage * kKernel - 1);
    if constexpr (kGlu) ring.load(1, gates, stage * kKernel - 1);
  };
  float window[kKernel][kChannels];
  const auto add_row = [&](int r) {
    auto& values = window[newest<kKernel>(r)];
    ring.values(0, r, values);
    if constexpr (kGlu) {
      float gate[kChannels];
      ring.values(1, r, gate);
#pragma unroll
      for (int v = 0; v < kChannels; ++v) values[v] *= sigmoid(gate[v]);
    }
  };
  prefetch<Work>(ring, load);
  const typename Memory::Taps taps(shape, arrays.taps, /*reversed=*/false,
                                   Memory::taps(shared_memory));
  march<Work, kKernel>(
      ring, own.rows, load,
      [&] {
#pragma unroll
        for (int r = 1; r < kKernel; ++r) add_row(r);
      },
      [&](int row) {
#pragma unroll
        for (int r = 0; r < kKernel; ++r) {
          add_row(r);
          float sums[kChannels] = {};
          for_window<kKernel>(r, [&](int q, int at) {
#pragma unroll
            for (int v = 0; v < kChannels; ++v) sums[v] += taps.values[q][v] * window[at][v];
          });
          store_bf16(y + (row + r) * y_pitch, sums, row + r < own.rows, /*real=*/true);
        }
      });
}

}  // namespace

bool march_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream) {
  if (!fits_march(shape) || !is_aligned(arrays.x) || !is_aligned(arrays.y)) return false;
  with_bool(shape.glu, [&](auto glu) {
    with_march_kernel(shape.kernel, [&](auto taps) {
      using Work = MarchForwardWork<taps.value, glu.value>;
      const MarchShape march = march_shape<Work>(shape, "conv_forward");
      const auto kernel = march_forward_kernel<Work, taps.value, glu.value>;
      constexpr size_t kBytes = MarchForwardMemory<Work, taps.value, glu.value>::kBytes;
      allow_shared_memory(kernel, kBytes);
      launch_dependent(kernel, march.groups * march.strips, Work::kThreads, kBytes, stream, march,
                       {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
                        static_cast<bf16*>(arrays.y)});
    });
  });
  return true;
}

}  // namespace convseq::kernels
