#include "convseq/kernels/cuda/conv/conv_paths.h"
#include "convseq/kernels/cuda/conv/conv_toeplitz.cuh"
#include "convseq/kernels/cuda/conv/gate.cuh"

namespace convseq::kernels {
namespace {

// Chosen by measurement.
template <int kTapBlocks, bool kGlu>
using ToeplitzForwardWork = ToeplitzWork<64, 8, kGlu ? 5 : 9, 3>;

struct ToeplitzForwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  bf16* y;
};

// The shared memory of a block.
template <class Work, int kTapBlocks>
struct ToeplitzForwardMemory {
  static constexpr int kVectors = kSpanVectors + kTapBlocks - 1;
  using Rows = ChannelRows<kVectors>;
  using Taps = SplitTaps<kTapBlocks>;
  static constexpr size_t kBytes = Work::kStrip * (Rows::kPitch + Taps::kBytes);
  Rows rows;
  Taps taps;

  __device__ explicit ToeplitzForwardMemory(uint4* memory)
      : rows{reinterpret_cast<char*>(memory)},
        taps{reinterpret_cast<unsigned*>(rows.start + Work::kStrip * Rows::kPitch)} {}
};

// Computes a span of one channel in place.
template <class Memory, int kTapBlocks>
__device__ void convolve_channel(const Memory& memory, const SpanOffsets<kTapBlocks>& offsets,
                                 int channel) {
  const ToeplitzTaps<kTapBlocks> matrix(memory.taps, channel);
  typename SpanOffsets<kTapBlocks>::Windows windows;
  offsets.load_windows(windows, [&](unsigned(&to)[4], int offset) {
    ldmatrix_x4(to, memory.rows.at(channel, offset));
  });
  float sums[2][4] = {};
  matrix.matmul(windows, sums);
  unsigned values[4];
  pack_sums(sums, values);
  stmatrix_x4_transposed(memory.rows.at(channel, offsets.outputs), values);
}

template <class Work, int kTapBlocks, bool kGlu>
__global__ void __launch_bounds__(Work::kThreads, Work::kBlocksAtOnce)
    toeplitz_forward_kernel(ToeplitzShape shape, ToeplitzForwardArrays arrays) {
  using Memory = ToeplitzForwardMemory<Work, kTapBlocks>;
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  const Memory memory(shared_memory);
  const SpanOffsets<kTapBlocks> offsets;
  const TransposedLane<Work> lane;
  const int strip = blockIdx.x % shape.strips * Work::kStrip;
  const int channels = min(Work::kStrip, shape.channels - strip);
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  memory.taps.template fill<Work>(shape, arrays.taps, strip, /*reversed=*/false);

  const int from = blockIdx.x / shape.strips * shape.slices_per_block;
  const int to = min(from + shape.slices_per_block, shape.slices);
  for (int slice = from; slice < to; ++slice) {
    const ToeplitzSlice own(shape, slice);
    const int64_t sequence = int64_t{own.batch} * shape.time;
    const bf16* x = arrays.x + sequence * pitch + strip + lane.channel;
    bf16* y = arrays.y + sequence * shape.channels + strip + lane.channel;
    const bool inside = lane.channel < channels;
    const int real = inside ? real_length(arrays.lengths, own.batch, shape.time) : 0;
    const SequenceRows inputs{pitch, own.first - shape.left, shape.dilation, real};
    const SequenceRows outputs{shape.channels, own.first, shape.dilation, inside ? shape.time : 0};
    __syncthreads();  // the previous span has been stored
    if constexpr (kGlu) {
      struct Gated {
        uint4 value, gate;
      };
      for_vectors<Work, Memory::kVectors, Work::kLoads>(
          [&](int vec, bool wanted) {
            const int row = vec * 8 + lane.position;
            return Gated{inputs.load(x, row, wanted), inputs.load(x + shape.channels, row, wanted)};
          },
          [&](int vec, const Gated& loaded) {
            store_transposed(memory.rows, vec, lane.matrix_channel,
                             gate_vector(loaded.value, loaded.gate));
          });
    } else {
      for_vectors<Work, Memory::kVectors, Work::kLoads>(
          [&](int vec, bool wanted) { return inputs.load(x, vec * 8 + lane.position, wanted); },
          [&](int vec, const uint4& loaded) {
            store_transposed(memory.rows, vec, lane.matrix_channel, loaded);
          });
    }
    __syncthreads();
#pragma unroll 2
    for (int c = threadIdx.x / kLanes; c < channels; c += Work::kWarps) {
      convolve_channel(memory, offsets, c);
    }
    __syncthreads();
    for_vectors<Work, kSpanVectors, 4>(
        [&](int vec, bool) { return load_transposed(memory.rows, vec, lane.matrix_channel); },
        [&](int vec, const uint4& values) { outputs.store(y, vec * 8 + lane.position, values); });
  }
}

}  // namespace

bool toeplitz_forward(const ConvShape& shape, const ConvForward& arrays, cudaStream_t stream) {
  if (!fits_toeplitz(shape) || !is_aligned(arrays.x) || !is_aligned(arrays.y)) return false;
  with_bool(shape.glu, [&](auto glu) {
    with_tap_blocks(shape.kernel, [&](auto tap_blocks) {
      using Work = ToeplitzForwardWork<tap_blocks.value, glu.value>;
      const ToeplitzShape toeplitz = toeplitz_shape(shape, Work::kStrip, "conv_forward");
      const auto kernel = toeplitz_forward_kernel<Work, tap_blocks.value, glu.value>;
      constexpr size_t kBytes = ToeplitzForwardMemory<Work, tap_blocks.value>::kBytes;
      allow_shared_memory(kernel, kBytes);
      launch_dependent(kernel, toeplitz.groups() * toeplitz.strips, Work::kThreads, kBytes, stream,
                       toeplitz,
                       {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
                        static_cast<bf16*>(arrays.y)});
    });
  });
  return true;
}

}  // namespace convseq::kernels
