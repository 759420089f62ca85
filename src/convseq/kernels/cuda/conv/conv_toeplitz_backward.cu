#include "convseq/kernels/cuda/conv/conv_paths.h"
#include "convseq/kernels/cuda/conv/conv_toeplitz.cuh"
#include "convseq/kernels/cuda/conv/gate.cuh"

// The Toeplitz matrix of the reversed taps times columns of dy is dx. The columns of x, 16 rows
// each, times those of dy, transposed, are summed along diagonals to the gradient of the taps. The
// gradients overwrite x.
namespace convseq::kernels {
namespace {

// Chosen by measurement.
template <int kTapBlocks, bool kGlu>
using ToeplitzBackwardWork = ToeplitzWork<32, 8, kGlu ? 3 : 5, kGlu && kTapBlocks == 5 ? 2 : 3>;

struct ToeplitzBackwardArrays {
  const bf16* x;
  const float* taps;
  const int64_t* lengths;
  const bf16* dy;
  bf16* dx;
  float* partial;  // [groups of slices, k, channels]
};

// The gradient of one channel's taps: 16 × 8 (kTapBlocks + 1) accumulators. Row r and column q
// belong to tap q − r, counted from the last; entries that belong to none are not used.
template <int kTapBlocks>
struct TapGradient {
  static constexpr int kMaxKernel = (kTapBlocks - 1) * 8 + 1;
  static constexpr int kPitch = (kTapBlocks | 1) * 8;  // an odd number of eights: distinct banks
  static constexpr int kScratch = 8 * kPitch;          // floats per warp
  float sums[kTapBlocks + 1][4] = {};

  __device__ void add(const unsigned (&x)[4],
                      const typename SpanOffsets<kTapBlocks>::Windows& windows) {
#pragma unroll
    for (int b = 0; b <= kTapBlocks; ++b) mma_m16n8k16(sums[b], x, windows[0][b], windows[1][b]);
  }

  // Calls use(tap, sum). Rows 8 to 15 are first added to rows 0 to 7 of the block before, which
  // have the same diagonals.
  template <class Use>
  __device__ void for_taps(float* scratch, int kernel, Use use) const {
    const int lane = threadIdx.x % kLanes;
    __syncwarp();  // the previous sums have been read
#pragma unroll
    for (int d = 0; d < kTapBlocks; ++d) {
      const float2 both{sums[d][0] + sums[d + 1][2], sums[d][1] + sums[d + 1][3]};
      *reinterpret_cast<float2*>(scratch + lane / 4 * kPitch + d * 8 + lane % 4 * 2) = both;
    }
    __syncwarp();
#pragma unroll
    for (int first = 0; first < kMaxKernel; first += kLanes) {
      const int diagonal = first + lane;
      if (diagonal >= kernel) break;
      float sum = 0;
#pragma unroll
      for (int r = 0; r < 8; ++r) sum += scratch[r * kPitch + diagonal + r];
      use(kernel - 1 - diagonal, sum);
    }
  }
};

// The shared memory of a block: rows of dy, of x and of its gates, the taps and their gradient.
template <class Work, int kTapBlocks, bool kGlu>
struct ToeplitzBackwardMemory {
  static constexpr int kWindowVectors = kSpanVectors + kTapBlocks - 1;
  static constexpr int kGradientPitch = Work::kStrip + 1;
  static constexpr int kScratch = TapGradient<kTapBlocks>::kScratch;
  using Windows = ChannelRows<kWindowVectors>;
  using Rows = ChannelRows<kSpanVectors>;
  using Taps = SplitTaps<kTapBlocks>;
  static constexpr size_t kBytes =
      Work::kStrip * (Windows::kPitch + Rows::kPitch * (kGlu ? 2 : 1) + Taps::kBytes) +
      sizeof(float) *
          (kScratch * Work::kWarps + TapGradient<kTapBlocks>::kMaxKernel * kGradientPitch);
  Windows dy;
  Rows x;
  Rows gates;
  Taps taps;
  float* scratch;   // of the warp
  float* gradient;  // [k, kStrip]

  __device__ explicit ToeplitzBackwardMemory(uint4* memory) {
    dy.start = reinterpret_cast<char*>(memory);
    x.start = dy.start + Work::kStrip * dy.kPitch;
    gates.start = x.start + (kGlu ? Work::kStrip * x.kPitch : 0);
    taps.start = reinterpret_cast<unsigned*>(gates.start + Work::kStrip * gates.kPitch);
    float* scratches = reinterpret_cast<float*>(taps.start + Work::kStrip * taps.kPitch);
    scratch = scratches + threadIdx.x / kLanes * kScratch;
    gradient = scratches + Work::kWarps * kScratch;
  }
};

// Computes a span of one channel: dx in place of x, and the gradient of the taps.
template <bool kGlu, class Memory, int kTapBlocks>
__device__ TapGradient<kTapBlocks> backpropagate_channel(const Memory& memory,
                                                         const SpanOffsets<kTapBlocks>& offsets,
                                                         int channel) {
  TapGradient<kTapBlocks> gradient;
  typename SpanOffsets<kTapBlocks>::Windows dy;
  bf16* x = memory.x.at(channel, offsets.outputs);
  unsigned values[4];
  ldmatrix_x4_transposed(values, x);
  const auto load_columns = [&] {
    offsets.load_windows(dy, [&](unsigned(&to)[4], int offset) {
      ldmatrix_x4_transposed(to, memory.dy.at(channel, offset));
    });
  };
  const auto multiply_taps = [&](float(&du)[2][4]) {
    const ToeplitzTaps<kTapBlocks> matrix(memory.taps, channel);
    offsets.load_windows(
        dy, [&](unsigned(&to)[4], int offset) { ldmatrix_x4(to, memory.dy.at(channel, offset)); });
    matrix.matmul(dy, du);
  };
  float du[2][4] = {};
  if constexpr (kGlu) {
    bf16* gate = memory.gates.at(channel, offsets.outputs);
    unsigned gates[4];
    ldmatrix_x4_transposed(gates, gate);
    const GatedSlice gated(values, gates);
    load_columns();
    gradient.add(values, dy);
    gradient.add(gated.rounded_off, dy);
    multiply_taps(du);
    gated.make_gradients(du, values, gates);
    stmatrix_x4_transposed(gate, gates);
  } else {
    load_columns();
    gradient.add(values, dy);
    multiply_taps(du);
    pack_sums(du, values);
  }
  stmatrix_x4_transposed(x, values);
  return gradient;
}

template <class Work, int kTapBlocks, bool kGlu>
__global__ void __launch_bounds__(Work::kThreads, Work::kBlocksAtOnce)
    toeplitz_backward_kernel(ToeplitzShape shape, ToeplitzBackwardArrays arrays) {
  using Memory = ToeplitzBackwardMemory<Work, kTapBlocks, kGlu>;
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  const Memory memory(shared_memory);
  const SpanOffsets<kTapBlocks> offsets;
  const TransposedLane<Work> lane;
  const int strip = blockIdx.x % shape.strips * Work::kStrip;
  const int channels = min(Work::kStrip, shape.channels - strip);
  const int pitch = shape.channels * (kGlu ? 2 : 1);
  memory.taps.template fill<Work>(shape, arrays.taps, strip, /*reversed=*/true);

  const int group = blockIdx.x / shape.strips, from = group * shape.slices_per_block;
  const int to = min(from + shape.slices_per_block, shape.slices);
  for (int slice = from; slice < to; ++slice) {
    const ToeplitzSlice own(shape, slice);
    const int64_t sequence = int64_t{own.batch} * shape.time;
    const bf16* dy = arrays.dy + sequence * shape.channels + strip + lane.channel;
    const bf16* x = arrays.x + sequence * pitch + strip + lane.channel;
    bf16* dx = arrays.dx + sequence * pitch + strip + lane.channel;
    const int time = lane.channel < channels ? shape.time : 0;
    const int real = min(time, real_length(arrays.lengths, own.batch, shape.time));
    const SequenceRows windows{shape.channels, own.first + shape.left - shape.reach(),
                               shape.dilation, time};
    const SequenceRows inputs{pitch, own.first, shape.dilation, real};
    const SequenceRows outputs{pitch, own.first, shape.dilation, time};
    struct Vectors {
      uint4 dy, x, gate;
    };
    __syncthreads();  // the previous span has been stored
    for_vectors<Work, Memory::kWindowVectors, Work::kLoads>(
        [&](int vec, bool wanted) {
          const int row = vec * 8 + lane.position;
          const bool in_span = wanted && vec < kSpanVectors;
          Vectors loaded{windows.load(dy, row, wanted), inputs.load(x, row, in_span), {}};
          if constexpr (kGlu) loaded.gate = inputs.load(x + shape.channels, row, in_span);
          return loaded;
        },
        [&](int vec, const Vectors& loaded) {
          store_transposed(memory.dy, vec, lane.matrix_channel, loaded.dy);
          if (vec >= kSpanVectors) return;
          store_transposed(memory.x, vec, lane.matrix_channel, loaded.x);
          if constexpr (kGlu) store_transposed(memory.gates, vec, lane.matrix_channel, loaded.gate);
        });
    __syncthreads();
    for (int c = threadIdx.x / kLanes; c < channels; c += Work::kWarps) {
      const auto gradient = backpropagate_channel<kGlu>(memory, offsets, c);
      gradient.for_taps(memory.scratch, shape.kernel, [&](int tap, float sum) {
        float& total = memory.gradient[tap * Memory::kGradientPitch + c];
        total = slice == from ? sum : total + sum;
      });
    }
    __syncthreads();
    const auto store = [&](const typename Memory::Rows& rows, bf16* start) {
      for_vectors<Work, kSpanVectors, 4>(
          [&](int vec, bool) { return load_transposed(rows, vec, lane.matrix_channel); },
          [&](int vec, const uint4& values) {
            const int row = vec * 8 + lane.position;
            const unsigned kept = inputs.exists(row) ? 0xffffffffu : 0;  // padding is set to zero
            outputs.store(start, row,
                          {values.x & kept, values.y & kept, values.z & kept, values.w & kept});
          });
    };
    store(memory.x, dx);
    if constexpr (kGlu) store(memory.gates, dx + shape.channels);
  }
  float* partial = arrays.partial + int64_t{group} * shape.kernel * shape.channels + strip;
  for (int i = threadIdx.x; i < shape.kernel * Work::kStrip; i += Work::kThreads) {
    const int tap = i / Work::kStrip, c = i % Work::kStrip;
    if (c < channels) {
      partial[int64_t{tap} * shape.channels + c] =
          memory.gradient[tap * Memory::kGradientPitch + c];
    }
  }
}

// Calls use(work, constant<tap blocks>, constant<gated>, shape of the kernel).
template <class Use>
auto with_backward_work(const ConvShape& shape, Use use) {
  return with_bool(shape.glu, [&](auto glu) {
    return with_tap_blocks(shape.kernel, [&](auto tap_blocks) {
      using Work = ToeplitzBackwardWork<tap_blocks.value, glu.value>;
      return use(Work{}, tap_blocks, glu, toeplitz_shape(shape, Work::kStrip, "conv_backward"));
    });
  });
}

}  // namespace

bool toeplitz_backward(const ConvShape& shape, const ConvBackward& arrays, cudaStream_t stream) {
  if (!fits_toeplitz(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  auto* partial = static_cast<float*>(arrays.workspace);
  with_backward_work(shape, [&](auto work, auto tap_blocks, auto glu, const auto& toeplitz) {
    using Work = decltype(work);
    const auto kernel = toeplitz_backward_kernel<Work, tap_blocks.value, glu.value>;
    constexpr size_t kBytes = ToeplitzBackwardMemory<Work, tap_blocks.value, glu.value>::kBytes;
    allow_shared_memory(kernel, kBytes);
    launch_dependent(kernel, toeplitz.groups() * toeplitz.strips, Work::kThreads, kBytes, stream,
                     toeplitz,
                     {static_cast<const bf16*>(arrays.x), arrays.taps, arrays.lengths,
                      static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx), partial});
    sum_tap_partials(shape, partial, toeplitz.groups(), shape.channels, arrays.dtaps, stream);
  });
  return true;
}

size_t toeplitz_backward_workspace(const ConvShape& shape) {
  if (!fits_toeplitz(shape)) return 0;
  return with_backward_work(shape, [&](auto, auto, auto, const ToeplitzShape& toeplitz) {
    return static_cast<size_t>(toeplitz.groups() * shape.kernel * shape.channels) * sizeof(float);
  });
}

}  // namespace convseq::kernels
