#pragma once

#include <bit>

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/tensor_core.cuh"

// Static convolutions of bf16 activations on the tensor cores, where the 64 channels of a strip
// share their taps. Sixteen outputs of one strip are a matmul: a band matrix [16, 16 + k − 1] with
// the taps along its diagonals times [16 + k − 1, 64] rows of input. Each tap is split into the sum
// of two bf16 values, which keeps 16 of its 24 bits; the rows are exact and the sums are fp32. (The
// zeros of the band times an infinity are NaN: a row that is not finite makes outputs up to 15 rows
// beyond its reach NaN.)
//
// A block advances along one strip of one sequence in chunks. Its rows are in a ring buffer in
// shared memory that is prefetched some chunks ahead, so that loads, computation and stores
// overlap. With a dilation the sixteen outputs of a matmul are `dilation` apart, and so are its
// rows.
namespace convseq::kernels {

constexpr int kBandStrip = 64;
constexpr int kBandTile = 16;    // rows of a matmul
constexpr int kBandVectors = 8;  // of 16 bytes per row of a strip
constexpr int kBandValues = 8;   // per vector of 16 bytes
constexpr int kBandThreads = 128;
constexpr int kBandWarps = kBandThreads / kLanes;
constexpr size_t kBandMaxBytes = 96 * 1024;  // of shared memory: available on every GPU since sm_80
constexpr int kBandMaxKernel = 33;           // the span of three matmuls of 16 rows each

struct BandShape {
  int time;
  int channels;
  int head_width;
  int kernel;
  int dilation;
  int dilation_zeros;  // trailing zero bits of the dilation
  int left;
  int chunk;     // outputs of one step
  int steps;     // of one block
  int segments;  // blocks along time
  int strips;
  int ring;  // rows of the ring buffer

  __host__ __device__ int reach() const { return (kernel - 1) * dilation; }
};

struct BandCoord {
  int batch;
  int segment;
  int strip;
  int first;  // position of the block's first output
  int steps;  // until the sequence ends

  __device__ explicit BandCoord(const BandShape& shape)
      : batch(blockIdx.x / shape.strips / shape.segments),
        segment(blockIdx.x / shape.strips % shape.segments),
        strip(blockIdx.x % shape.strips),
        first(segment * shape.steps * shape.chunk),
        steps(min(shape.steps, ceil_div(shape.time - first, shape.chunk))) {}
};

// The address of a 16-byte vector of a row. Vectors are swizzled by XOR with the row, so that the
// same vector of eight neighbouring rows lies in distinct banks.
__device__ inline bf16* band_vector(bf16* rows, int row, int vec) {
  return rows + row * kBandStrip + ((vec ^ (row & 7)) * kBandValues);
}

__device__ inline int ring_row(const BandShape& shape, int row) {
  return row >= shape.ring ? row - shape.ring : row;
}

// Positions of one strip of one sequence; only those in 0 .. real − 1 exist.
struct BandRows {
  const bf16* start;
  int pitch;
  int real;

  // Calls copy(row, vec, from, exists) for all vectors of rows 0 .. count − 1, from position
  // `first`.
  template <class Copy>
  __device__ void for_vectors(int first, int count, Copy copy) const {
    const int vec = threadIdx.x % kBandVectors;
    for (int row = threadIdx.x / kBandVectors; row < count; row += kBandThreads / kBandVectors) {
      const int position = first + row;
      const bool exists = position >= 0 && position < real;
      const int64_t at = exists ? int64_t{position} * pitch : 0;
      copy(row, vec, start + at + vec * kBandValues, exists);
    }
  }
};

// Copies the rows of one step's chunk into the ring buffer, after those of the steps before.
__device__ inline void copy_to_ring(const BandShape& shape, const BandRows& rows, int first,
                                    int ring_first, int count, bf16* ring) {
  rows.for_vectors(first, count, [&](int row, int vec, const bf16* from, bool exists) {
    cp_async_16(band_vector(ring, ring_row(shape, ring_first + row), vec), from, exists);
  });
}

// The first row that a step adds, counted from the block's first row.
__device__ inline int added_row(const BandShape& shape, int step) {
  return shape.reach() + step * shape.chunk;
}

// The band matrix of taps as left operands of kBlocks matmuls, 16 columns each.
template <int kBlocks>
struct BandTaps {
  unsigned high[kBlocks][4];
  unsigned low[kBlocks][4];

  // value(r, q) gives row r and column q over all blocks.
  template <class Value>
  __device__ void make(Value value) {
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int r = lane / 4 + i % 2 * 8;
        const int q = b * kBandTile + lane % 4 * 2 + i / 2 * 8;
        const float first = value(r, q), second = value(r, q + 1);
        high[b][i] = pack_pair(first, second);
        const float2 rounded = unpack_pair(high[b][i]);
        low[b][i] = pack_pair(first - rounded.x, second - rounded.y);
      }
    }
  }

  // Row r, column q holds tap q − r, counted from the last where `reversed`.
  __device__ void load(const float* taps, int kernel, bool reversed) {
    make([&](int r, int q) {
      const int j = reversed ? kernel - 1 - (q - r) : q - r;
      return j >= 0 && j < kernel ? taps[j] : 0.f;
    });
  }
};

using BandSums = float[kBandStrip / 8][4];  // a warp's accumulators: 16 rows × 64 channels

// The rows of the ring buffer whose addresses a lane passes to ldmatrix for one task. The last
// columns of the band hold no taps: there the task's last row replaces rows that may not be loaded.
template <int kBlocks>
struct BandWindow {
  int rows[kBlocks];

  // `lane_row` in each 16 rows.
  __device__ BandWindow(const BandShape& shape, int first, int lane_row) {
    const int last = kBandTile + shape.kernel - 2;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const int row = min(b * kBandTile + lane_row, last);
      rows[b] = ring_row(shape, first + row * shape.dilation);
    }
  }
};

// sums += band · rows from ring row `first` on.
template <int kBlocks>
__device__ void matmul_taps(const BandShape& shape, const BandTaps<kBlocks>& taps, bf16* ring,
                            int first, BandSums& sums) {
  const int lane = threadIdx.x % kLanes;
  const BandWindow<kBlocks> window(shape, first, lane % kBandTile);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int n = 0; n < kBandStrip / 16; ++n) {
      unsigned rows[4];
      ldmatrix_x4_transposed(rows, band_vector(ring, window.rows[b], n * 2 + lane / 16));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        mma_m16n8k16(sums[n * 2 + half], taps.high[b], rows[half * 2], rows[half * 2 + 1]);
        mma_m16n8k16(sums[n * 2 + half], taps.low[b], rows[half * 2], rows[half * 2 + 1]);
      }
    }
  }
}

// The matmul of 16 rows with the transposed rows of a window, 16 · kBlocks columns. Entry (r, q)
// belongs to tap q − r; entries outside the band are not used.
template <int kBlocks>
struct BandAccumulators {
  float sums[kBlocks][2][4];

  // sums += own rows (each lane passes row `own`, 16 in all) · ring rows from `first` on,
  // transposed.
  __device__ void add(const BandShape& shape, bf16* rows, int own, bf16* ring, int first) {
    const int lane = threadIdx.x % kLanes;
    const BandWindow<kBlocks> window(shape, first, lane % 8 + lane / 16 * 8);
#pragma unroll
    for (int vec = 0; vec < kBandVectors; vec += 2) {
      unsigned a[4];
      ldmatrix_x4(a, band_vector(rows, own, vec + lane / 16));
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        unsigned b[4];
        ldmatrix_x4(b, band_vector(ring, window.rows[block], vec + lane / 8 % 2));
        mma_m16n8k16(sums[block][0], a, b[0], b[1]);
        mma_m16n8k16(sums[block][1], a, b[2], b[3]);
      }
    }
  }

  template <class Use>
  __device__ void for_entries(Use use) const {
    const int lane = threadIdx.x % kLanes;
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        use(lane / 4 + i / 2 % 2 * 8, block * kBandTile + i / 4 * 8 + lane % 4 * 2 + i % 2,
            sums[block][i / 4][i % 4]);
      }
    }
  }
};

// Stores the accumulators to 16 rows of shared memory as bf16.
__device__ inline void store_sums(bf16* outputs, const BandSums& sums) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int n = 0; n < kBandStrip / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane / 4 + half * 8;
      reinterpret_cast<unsigned*>(band_vector(outputs, row, n))[lane % 4] =
          pack_pair(sums[n][half * 2], sums[n][half * 2 + 1]);
    }
  }
}

// Copies 16 rows of a strip from shared memory by vectorised stores to to(r), where the channels of
// row r begin; nullptr for a row that does not exist.
template <class To>
__device__ void store_band_rows(bf16* rows, int first, int step, To to) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int r = lane / kBandVectors; r < kBandTile; r += kLanes / kBandVectors) {
    bf16* at = to(r);
    if (at == nullptr) continue;
    const int vec = lane % kBandVectors;
    *reinterpret_cast<uint4*>(at + vec * kBandValues) =
        *reinterpret_cast<const uint4*>(band_vector(rows, first + r * step, vec));
  }
}

// A task is 16 outputs: `dilation` interleaved runs fill 16 · dilation rows.
__device__ inline int band_task_row(const BandShape& shape, int task) {
  return shape.dilation == 1
             ? task * kBandTile
             : task / shape.dilation * kBandTile * shape.dilation + task % shape.dilation;
}

// Blocks that cover about `most` positions each.
inline BandShape band_shape(const ConvShape& shape, int most, int ahead) {
  BandShape made{};
  made.time = static_cast<int>(shape.time);
  made.channels = static_cast<int>(shape.channels);
  made.head_width = static_cast<int>(shape.channels / shape.heads);
  made.kernel = static_cast<int>(shape.kernel);
  made.dilation = static_cast<int>(shape.dilation);
  made.dilation_zeros = std::countr_zero(static_cast<unsigned>(made.dilation));
  made.left = static_cast<int>(shape.left);
  made.chunk = ceil_div(kBandWarps, made.dilation) * made.dilation * kBandTile;
  made.strips = made.channels / kBandStrip;
  const int rows = rows_per_block(shape, made.strips, most, made.chunk);
  const int steps = ceil_div(made.time, made.chunk);
  made.segments = ceil_div(steps, ceil_div(rows, made.chunk));
  made.steps = ceil_div(steps, made.segments);
  made.segments = ceil_div(steps, made.steps);
  made.ring = made.reach() + (ahead + 1) * made.chunk;
  return made;
}

// Calls use(constant<number of 16-column matmuls that the band of taps spans>).
template <class Use>
auto with_band_blocks(int64_t kernel, Use use) {
  return kernel <= kBandTile + 1 ? use(std::integral_constant<int, 2>{})
                                 : use(std::integral_constant<int, 3>{});
}

inline bool fits_band(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels / shape.heads % kBandStrip == 0 &&
         shape.kernel <= kBandMaxKernel && shape.dilation <= 64;
}

}  // namespace convseq::kernels
