#include "convseq/kernels/cuda/conv/conv_march.cuh"
#include "convseq/kernels/cuda/conv/conv_paths.h"
#include "convseq/kernels/cuda/conv/gate.cuh"

// The window holds rows of dy. Its product with the reversed taps is dx; its products with the
// thread's own rows of x, summed along the segment, are the gradient of the taps.
namespace convseq::kernels {
namespace {

// As many blocks as the registers allow.
template <int kKernel, bool kGlu>
using MarchBackwardWork = MarchWork<4, 4, 3, (kKernel == 9 ? 3 : 4) - kGlu>;

template <class Work, int kKernel, bool kGlu>
using MarchBackwardMemory = MarchMemory<Work, kKernel, kGlu ? 3 : 2>;

struct MarchBackwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  const bf16* dy;
  bf16* dx;
  float* partial;  // [groups of marches, k, channels]
};

// The arrays of the ring buffer.
enum { kDy, kX, kGate };

// Sums the gradients of a block's warps in their order.
template <class Work, int kKernel>
__device__ void write_partials(const MarchShape& shape,
                               const float (&gradient)[kKernel][Work::kChannels], float* memory,
                               float* partial) {
  constexpr int kStrip = Work::kStrip, kEntries = kKernel * kStrip;
  const int warp = threadIdx.x / kLanes, lane = threadIdx.x % kLanes;
  __syncthreads();  // the ring buffer is not in use any more
#pragma unroll
  for (int q = 0; q < kKernel; ++q) {
    store_values(memory + warp * kEntries + q * kStrip + lane * Work::kChannels, gradient[q]);
  }
  __syncthreads();
  const int strip = blockIdx.x % shape.strips * kStrip;
  partial += int64_t{blockIdx.x / shape.strips} * shape.kernel * shape.channels + strip;
  for (int i = threadIdx.x; i < kEntries; i += Work::kThreads) {
    const int tap = kKernel - 1 - i / kStrip, channel = i % kStrip;
    if (tap >= shape.kernel || strip + channel >= shape.channels) continue;
    float sum = 0;
#pragma unroll
    for (int w = 0; w < Work::kWarps; ++w) sum += memory[w * kEntries + i];
    partial[int64_t{tap} * shape.channels + channel] = sum;
  }
}

template <class Work, int kKernel, bool kGlu>
__global__ void __launch_bounds__(Work::kThreads, Work::kBlocksAtOnce)
    march_backward_kernel(MarchShape shape, MarchBackwardArrays arrays) {
  using Memory = MarchBackwardMemory<Work, kKernel, kGlu>;
  constexpr int kChannels = Work::kChannels;
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  typename Memory::Ring ring(shared_memory);
  const March<Work> own(shape);
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  const int64_t sequence = int64_t{own.batch} * shape.time;
  const int real = real_length(arrays.lengths, own.batch, shape.time);
  const MarchRows dy(arrays.dy + sequence * shape.channels + own.channel, shape.channels,
                     shape.dilation, own.first + shape.left - (kKernel - 1) * shape.dilation,
                     own.rows == 0 ? 0 : own.rows + kKernel - 1, shape.time);
  const MarchRows x(arrays.x + sequence * pitch + own.channel, pitch, shape.dilation, own.first,
                    own.rows, real);
  MarchRows gates = x;
  gates.start += shape.channels;
  bf16* dx = arrays.dx + (sequence + own.first) * pitch + own.channel;

  const auto load = [&](int stage) {
    ring.load(kDy, dy, stage * kKernel - 1);
    ring.load(kX, x, (stage - 1) * kKernel);
    if constexpr (kGlu) ring.load(kGate, gates, (stage - 1) * kKernel);
  };
  float window[kKernel][kChannels];
  float gradient[kKernel][kChannels] = {};
  prefetch<Work>(ring, load);
  const typename Memory::Taps taps(shape, arrays.taps, /*reversed=*/true,
                                   Memory::taps(shared_memory));
  march<Work, kKernel>(
      ring, own.rows, load,
      [&] {
#pragma unroll
        for (int r = 1; r < kKernel; ++r) ring.values(kDy, r, window[newest<kKernel>(r)]);
      },
      [&](int row) {
#pragma unroll
        for (int r = 0; r < kKernel; ++r) {
          ring.values(kDy, r, window[newest<kKernel>(r)]);
          float u[kChannels], sigma[kChannels], gate_gradient[kChannels], du[kChannels] = {};
          ring.values(kX, r, u);
          if constexpr (kGlu) {
            float gate_values[kChannels];
            ring.values(kGate, r, gate_values);
#pragma unroll
            for (int v = 0; v < kChannels; ++v) {
              const Gate gate(gate_values[v]);
              sigma[v] = gate.sigma;
              u[v] *= gate.sigma;
              gate_gradient[v] = u[v] * gate.one_minus_sigma;
            }
          }
          for_window<kKernel>(r, [&](int q, int at) {
#pragma unroll
            for (int v = 0; v < kChannels; ++v) {
              du[v] += taps.values[q][v] * window[at][v];
              gradient[q][v] += u[v] * window[at][v];
            }
          });
          const bool exists = row + r < own.rows;
          bf16* to = dx + (row + r) * x.pitch;
          const bool is_real = x.exists(row + r);  // padding is set to zero
          if constexpr (kGlu) {
            float dg[kChannels];
#pragma unroll
            for (int v = 0; v < kChannels; ++v) {
              dg[v] = du[v] * gate_gradient[v];
              du[v] *= sigma[v];
            }
            store_bf16(to + shape.channels, dg, exists, is_real);
          }
          store_bf16(to, du, exists, is_real);
        }
      });
  write_partials<Work, kKernel>(shape, gradient, reinterpret_cast<float*>(shared_memory),
                                arrays.partial);
}

// Calls use(work, constant<taps of the window>, constant<gated>, shape of the kernel).
template <class Use>
auto with_backward_work(const ConvShape& shape, Use use) {
  return with_bool(shape.glu, [&](auto glu) {
    return with_march_kernel(shape.kernel, [&](auto taps) {
      using Work = MarchBackwardWork<taps.value, glu.value>;
      return use(Work{}, taps, glu, march_shape<Work>(shape, "conv_backward"));
    });
  });
}

}  // namespace

bool march_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  if (!fits_march(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  auto* partial = static_cast<float*>(arrays.workspace);
  with_backward_work(shape, [&](auto work, auto taps, auto glu, const MarchShape& march) {
    using Work = decltype(work);
    const auto kernel = march_backward_kernel<Work, taps.value, glu.value>;
    using Memory = MarchBackwardMemory<Work, taps.value, glu.value>;
    static_assert(Memory::Ring::kBytes >= sizeof(float) * taps.value * Work::kStrip * Work::kWarps);
    allow_shared_memory(kernel, Memory::kBytes);
    launch_dependent(kernel, march.groups * march.strips, Work::kThreads, Memory::kBytes, stream,
                     march,
                     {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
                      static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx), partial});
    sum_tap_partials(shape, partial, march.groups, shape.channels, arrays.dtaps, stream);
  });
  return true;
}

size_t march_backward_workspace(const ConvShape& shape) {
  if (!fits_march(shape)) return 0;
  return with_backward_work(shape, [&](auto, auto, auto, const MarchShape& march) {
    return static_cast<size_t>(march.groups) * static_cast<size_t>(shape.kernel * shape.channels) *
           sizeof(float);
  });
}

}  // namespace convseq::kernels
