#pragma once

#include "convseq/kernels/cuda/common.cuh"
#include "convseq/kernels/cuda/tensor_core.cuh"

// Static convolutions of bf16 activations on the tensor cores, where the 64 channels of a strip
// share their taps. Sixteen outputs of one strip are a product: [16, 16 + k − 1] of taps along
// diagonals (a band) times [16 + k − 1, 64] rows of input. The taps are split into two bf16 numbers
// each, so that 16 of their 24 bits count; the rows are exact, the sums fp32. (Zeros of the band
// times an infinity are NaN: a row that is not finite spoils outputs up to 15 rows beyond its
// reach.)
//
// A block marches along one strip of one sequence, chunk by chunk: the rows live in a ring of
// shared memory that is filled some chunks ahead, so that reading, computing and writing overlap.
// With a dilation the sixteen outputs of a product lie `dilation` apart, and so do its rows.
namespace convseq::kernels {

constexpr int kBandStrip = 64;
constexpr int kBandTile = 16;   // rows of a product
constexpr int kBandPieces = 8;  // of 16 bytes in a row of a strip
constexpr int kBandValues = 8;  // in a piece
constexpr int kBandThreads = 128;
constexpr int kBandWarps = kBandThreads / kLanes;
constexpr size_t kBandMostBytes = 96 * 1024;  // of shared memory: what every GPU since sm_80 has
constexpr int kBandMostKernel = 33;           // three products of 16 rows each reach that far

struct BandShape {
  int time;
  int channels;
  int head_width;
  int kernel;
  int dilation;
  int left;
  int chunk;     // outputs of one step
  int steps;     // of one block
  int segments;  // blocks along time
  int strips;
  int ring;  // rows

  __host__ __device__ int reach() const { return (kernel - 1) * dilation; }
};

struct BandPlace {
  int batch;
  int segment;
  int strip;
  int first;  // position of the block's first output
  int steps;  // until the sequence ends

  __device__ explicit BandPlace(const BandShape& shape)
      : batch(blockIdx.x / shape.strips / shape.segments),
        segment(blockIdx.x / shape.strips % shape.segments),
        strip(blockIdx.x % shape.strips),
        first(segment * shape.steps * shape.chunk),
        steps(min(shape.steps, ceil_div(shape.time - first, shape.chunk))) {}
};

// Where a piece of a row lies: swizzled by the row, so that the same piece of eight neighbouring
// rows lies in distinct banks.
__device__ inline bf16* band_piece(bf16* rows, int row, int piece) {
  return rows + row * kBandStrip + ((piece ^ (row & 7)) * kBandValues);
}

__device__ inline int ring_row(const BandShape& shape, int row) {
  return row >= shape.ring ? row - shape.ring : row;
}

// Positions of one strip of one sequence; only those in 0 .. real − 1 exist.
struct BandRows {
  const bf16* start;
  int pitch;
  int real;

  // Piece by piece: copy(row, piece, from, exists) for rows 0 .. count − 1, from position `first`.
  template <class Copy>
  __device__ void for_pieces(int first, int count, Copy copy) const {
    const int piece = threadIdx.x % kBandPieces;
    for (int row = threadIdx.x / kBandPieces; row < count; row += kBandThreads / kBandPieces) {
      const int position = first + row;
      const bool exists = position >= 0 && position < real;
      const int64_t at = exists ? int64_t{position} * pitch : 0;
      copy(row, piece, start + at + piece * kBandValues, exists);
    }
  }
};

__device__ inline void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kLeft>
__device__ void wait_for_copy_groups() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Copies the rows of one step's chunk into the ring, behind those of the steps before; `exists`
// and the pieces' places as in for_pieces.
__device__ inline void copy_to_ring(const BandShape& shape, const BandRows& rows, int first,
                                    int ring_first, int count, bf16* ring) {
  rows.for_pieces(first, count, [&](int row, int piece, const bf16* from, bool exists) {
    copy_16_async(band_piece(ring, ring_row(shape, ring_first + row), piece), from, exists);
  });
}

// Of the rows a step adds: the first position, counted from the block's first row, and its place.
__device__ inline int added_row(const BandShape& shape, int step) {
  return shape.reach() + step * shape.chunk;
}

// The band of taps as operands of kBlocks products, 16 columns each.
template <int kBlocks>
struct BandTaps {
  unsigned high[kBlocks][4];
  unsigned low[kBlocks][4];

  // value(r, q) is that of row r and column q, over all blocks.
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

using BandSums = float[kBandStrip / 8][4];  // 16 rows × 64 channels of a warp's products

// The rows of the ring that a lane brings to the products of one task. The band's last columns
// hold no taps: there the task's last row stands in for rows that may not be there yet.
template <int kBlocks>
struct BandWindow {
  int rows[kBlocks];

  // `lane_row` of each 16.
  __device__ BandWindow(const BandShape& shape, int first, int lane_row) {
    const int last = kBandTile + shape.kernel - 2;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b) {
      const int row = min(b * kBandTile + lane_row, last);
      rows[b] = ring_row(shape, first + row * shape.dilation);
    }
  }
};

// sums += the band times the rows from ring row `first` on.
template <int kBlocks>
__device__ void multiply_taps(const BandShape& shape, const BandTaps<kBlocks>& taps, bf16* ring,
                              int first, BandSums& sums) {
  const int lane = threadIdx.x % kLanes;
  const BandWindow<kBlocks> window(shape, first, lane % kBandTile);
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
#pragma unroll
    for (int n = 0; n < kBandStrip / 16; ++n) {
      unsigned rows[4];
      load_matrices_transposed(rows, band_piece(ring, window.rows[b], n * 2 + lane / 16));
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        multiply_add(sums[n * 2 + half], taps.high[b], rows[half * 2], rows[half * 2 + 1]);
        multiply_add(sums[n * 2 + half], taps.low[b], rows[half * 2], rows[half * 2 + 1]);
      }
    }
  }
}

// The products of 16 rows with the rows of a window, 16 · kBlocks columns of which those within the
// band matter: entry (r, q) belongs to tap q − r.
template <int kBlocks>
struct BandProducts {
  float sums[kBlocks][2][4];

  // sums += row `own` of each lane (16 of them) times the ring's rows from `first` on.
  __device__ void add(const BandShape& shape, bf16* rows, int own, bf16* ring, int first) {
    const int lane = threadIdx.x % kLanes;
    const BandWindow<kBlocks> window(shape, first, lane % 8 + lane / 16 * 8);
#pragma unroll
    for (int piece = 0; piece < kBandPieces; piece += 2) {
      unsigned a[4];
      load_matrices(a, band_piece(rows, own, piece + lane / 16));
#pragma unroll
      for (int block = 0; block < kBlocks; ++block) {
        unsigned b[4];
        load_matrices(b, band_piece(ring, window.rows[block], piece + lane / 8 % 2));
        multiply_add(sums[block][0], a, b[0], b[1]);
        multiply_add(sums[block][1], a, b[2], b[3]);
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

// Sums to 16 rows of shared memory, in bf16.
__device__ inline void keep_sums(bf16* outputs, const BandSums& sums) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int n = 0; n < kBandStrip / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = lane / 4 + half * 8;
      reinterpret_cast<unsigned*>(band_piece(outputs, row, n))[lane % 4] =
          pack_pair(sums[n][half * 2], sums[n][half * 2 + 1]);
    }
  }
}

// Sixteen rows of a strip from shared memory, whole pieces, to where row r's channels begin:
// to(r), or nullptr for a row that there is not.
template <class To>
__device__ void store_band_rows(bf16* rows, int first, int step, To to) {
  const int lane = threadIdx.x % kLanes;
#pragma unroll
  for (int r = lane / kBandPieces; r < kBandTile; r += kLanes / kBandPieces) {
    bf16* at = to(r);
    if (at == nullptr) continue;
    const int piece = lane % kBandPieces;
    *reinterpret_cast<uint4*>(at + piece * kBandValues) =
        *reinterpret_cast<const uint4*>(band_piece(rows, first + r * step, piece));
  }
}

// A task is 16 outputs: `dilation` interleaved runs fill 16 · dilation rows.
__device__ inline int band_task_row(const BandShape& shape, int task) {
  return shape.dilation == 1
             ? task * kBandTile
             : task / shape.dilation * kBandTile * shape.dilation + task % shape.dilation;
}

// Blocks that march over about `most` positions each.
inline BandShape band_shape(const ConvShape& shape, int most, int ahead) {
  BandShape made{};
  made.time = static_cast<int>(shape.time);
  made.channels = static_cast<int>(shape.channels);
  made.head_width = static_cast<int>(shape.channels / shape.heads);
  made.kernel = static_cast<int>(shape.kernel);
  made.dilation = static_cast<int>(shape.dilation);
  made.left = static_cast<int>(shape.left);
  made.chunk = ceil_div(kBandWarps, made.dilation) * made.dilation * kBandTile;
  made.strips = made.channels / kBandStrip;
  const int rows = rows_of_block(shape, made.strips, most, made.chunk);
  const int steps = ceil_div(made.time, made.chunk);
  made.segments = ceil_div(steps, ceil_div(rows, made.chunk));
  made.steps = ceil_div(steps, made.segments);
  made.segments = ceil_div(steps, made.steps);
  made.ring = made.reach() + (ahead + 1) * made.chunk;
  return made;
}

// Products of 16 rows that the band of taps spans.
template <class Use>
auto with_band_blocks(int64_t kernel, Use use) {
  return kernel <= kBandTile + 1 ? use(std::integral_constant<int, 2>{})
                                 : use(std::integral_constant<int, 3>{});
}

inline bool fits_band(const ConvShape& shape) {
  return shape.type == Type::Bf16 && shape.channels / shape.heads % kBandStrip == 0 &&
         shape.kernel <= kBandMostKernel && shape.dilation <= 64;
}

}  // namespace convseq::kernels
