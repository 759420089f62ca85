#pragma once

#include "convseq/kernels/cuda/conv/channel_rows.cuh"

// Static convolutions of bf16 activations on the tensor cores, where every channel has its own
// taps. A span of 256 outputs of one channel is a matmul: a Toeplitz matrix [16, 16 + k − 1] of the
// taps times a matrix [16 + k − 1, 16] whose column n holds the inputs from position 16n on. The
// taps are split and the rows are exact as in conv_band.cuh, and inputs that are not finite spread
// as they do there.
//
// A block computes spans of a strip of channels. It transposes the inputs of a span on their way to
// shared memory, where each channel is a row, so that ldmatrix loads positions of one channel. A
// warp computes one channel at a time and overwrites its inputs by its outputs. With a dilation a
// span takes every dilation-th position, so that its rows are those of a dense convolution.
namespace convseq::kernels {

constexpr int kToeplitzSpan = 256;  // outputs of two matmuls of 16 × 8
constexpr int kToeplitzMaxKernel = 33;
constexpr int kSpanVectors = kToeplitzSpan / 8;

// What a block does: the channels of its strip, its warps, the vectors of each array that a thread
// loads at once, and the blocks per multiprocessor.
template <int kStrip_, int kWarps_, int kLoads_, int kBlocksAtOnce_>
struct ToeplitzWork {
  static constexpr int kStrip = kStrip_;
  static constexpr int kWarps = kWarps_;
  static constexpr int kThreads = kWarps * kLanes;
  static constexpr int kGroups = kStrip / kVectorChannels;
  static constexpr int kLoads = kLoads_;
  static constexpr int kBlocksAtOnce = kBlocksAtOnce_;
};

struct ToeplitzShape {
  int time;
  int channels;
  int head_width;
  int kernel;
  int dilation;
  int left;
  int spans;             // along the time of one phase of the dilation
  int slices;            // spans of all phases and sequences
  int slices_per_block;  // one after the other, with the same taps
  int strips;

  __host__ __device__ int reach() const { return (kernel - 1) * dilation; }
  __host__ __device__ int groups() const { return ceil_div(slices, slices_per_block); }
};

// A span of one sequence: its outputs are `dilation` apart.
struct ToeplitzSlice {
  int batch;
  int first;  // position of the first output, which may not exist

  __device__ ToeplitzSlice(const ToeplitzShape& shape, int slice) {
    const int span = slice / shape.dilation;
    batch = span / shape.spans;
    first = span % shape.spans * kToeplitzSpan * shape.dilation + slice % shape.dilation;
  }
};

// The taps of a strip in shared memory, each a word of two bf16 values whose sum it is. Seven zeros
// precede them, and zeros follow.
template <int kTapBlocks>
struct SplitTaps {
  static constexpr int kPitch = (kTapBlocks + 1) * 8;
  static constexpr size_t kBytes = sizeof(unsigned) * kPitch;  // per channel
  unsigned* start;

  template <class Work>
  __device__ void fill(const ToeplitzShape& shape, const float* taps, int channel,
                       bool reversed) const {
    for (int i = threadIdx.x; i < Work::kStrip * kPitch; i += Work::kThreads) {
      const int tap = i % kPitch - 7, own = channel + i / kPitch;
      float value = 0;
      if (tap >= 0 && tap < shape.kernel && own < shape.channels) {
        const int head = shape.head_width == 1 ? own : own / shape.head_width;
        value = taps[head * shape.kernel + (reversed ? shape.kernel - 1 - tap : tap)];
      }
      start[i] = pack_pair(value, value - to_float(from_float<bf16>(value)));
    }
  }
};

// The Toeplitz matrix of one channel as left operands. Block d, 8 × 8, holds tap 8d + c − r in row
// r and column c; the blocks at row block R and column block Q of the matrix have d = Q − R.
template <int kTapBlocks>
struct ToeplitzTaps {
  static constexpr int kWindow = kTapBlocks + 1;         // blocks of 8 rows that 16 outputs read
  static constexpr int kMatmuls = ceil_div(kWindow, 2);  // of 16 columns
  unsigned high[kTapBlocks];
  unsigned low[kTapBlocks];

  __device__ ToeplitzTaps(const SplitTaps<kTapBlocks>& taps, int channel) {
    const int lane = threadIdx.x % kLanes;
    const unsigned* own = taps.start + channel * taps.kPitch + 7 + lane % 4 * 2 - lane / 4;
#pragma unroll
    for (int d = 0; d < kTapBlocks; ++d) {
      high[d] = __byte_perm(own[d * 8], own[d * 8 + 1], 0x5410);
      low[d] = __byte_perm(own[d * 8], own[d * 8 + 1], 0x7632);
    }
  }

  __device__ static unsigned block(const unsigned (&blocks)[kTapBlocks], int d) {
    return d >= 0 && d < kTapBlocks ? blocks[d] : 0;
  }

  // sums += the matrix · windows of 8 columns each.
  __device__ void matmul(const unsigned (&windows)[2][kMatmuls * 2], float (&sums)[2][4]) const {
#pragma unroll
    for (int b = 0; b < kMatmuls; ++b) {
      const auto add = [&](const unsigned(&blocks)[kTapBlocks]) {
        const unsigned operand[4] = {block(blocks, b * 2), block(blocks, b * 2 - 1),
                                     block(blocks, b * 2 + 1), block(blocks, b * 2)};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          mma_m16n8k16(sums[half], operand, windows[half][b * 2], windows[half][b * 2 + 1]);
        }
      };
      add(high);
      add(low);
    }
  }
};

// The offsets of the vectors whose addresses a lane passes to ldmatrix or stmatrix, in a channel's
// span of 16 columns. Column n of a window begins at vector 2n.
template <int kTapBlocks>
struct SpanOffsets {
  static constexpr int kHalfBytes = kSpanVectors / 2 * kVectorBytes;
  using Windows = unsigned[2][ToeplitzTaps<kTapBlocks>::kMatmuls * 2];
  int window;   // blocks 0 to 3 of the first eight columns
  int tail;     // blocks 4 and 5 of all columns
  int outputs;  // sixteen columns of sixteen outputs, as a left operand

  __device__ SpanOffsets() {
    const int n = threadIdx.x % 8, matrix = threadIdx.x % kLanes / 8;
    using Rows = ChannelRows<1>;
    window = Rows::vector_offset(n * 2 + matrix);
    tail = Rows::vector_offset(matrix / 2 * 16 + n * 2 + 4 + matrix % 2);
    outputs = Rows::vector_offset(matrix / 2 * 16 + n * 2 + matrix % 2);
  }

  // The windows of a span, block by block for each eight columns.
  template <class Load>
  __device__ void load_windows(Windows& to, Load load) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned blocks[4];
      load(blocks, window + half * kHalfBytes);
#pragma unroll
      for (int b = 0; b < 4; ++b) to[half][b] = blocks[b];
    }
    if constexpr (kTapBlocks > 3) {
      unsigned blocks[4];
      load(blocks, tail);
#pragma unroll
      for (int b = 0; b < 4; ++b) to[b / 2][4 + b % 2] = blocks[b];
    }
  }
};

// Calls use(constant<number of 8 × 8 blocks that hold the taps>).
template <class Use>
auto with_tap_blocks(int64_t kernel, Use use) {
  if (kernel <= 17) return use(std::integral_constant<int, 3>{});
  return use(std::integral_constant<int, 5>{});
}

inline ToeplitzShape toeplitz_shape(const ConvShape& shape, int strip, const char* op) {
  constexpr int kEnoughBlocks = 512, kMostSlices = 4;
  ToeplitzShape made{};
  made.time = static_cast<int>(shape.time);
  made.channels = static_cast<int>(shape.channels);
  made.head_width = static_cast<int>(shape.channels / shape.heads);
  made.kernel = static_cast<int>(shape.kernel);
  made.dilation = static_cast<int>(shape.dilation);
  made.left = static_cast<int>(shape.left);
  made.spans = ceil_div(ceil_div(made.time, made.dilation), kToeplitzSpan);
  made.strips = ceil_div(made.channels, strip);
  const int64_t slices = shape.batch * made.spans * made.dilation;
  checked_grid(slices * made.strips, op);
  made.slices = static_cast<int>(slices);
  made.slices_per_block = kMostSlices;
  while (made.slices_per_block > 1 && made.groups() * made.strips < kEnoughBlocks) {
    made.slices_per_block /= 2;
  }
  return made;
}

// With a large dilation most of a span would be empty.
inline bool fits_toeplitz(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels % 8 == 0 &&
         shape.kernel <= kToeplitzMaxKernel &&
         (shape.dilation == 1 || shape.time / shape.dilation >= kToeplitzSpan / 4);
}

}  // namespace convseq::kernels
