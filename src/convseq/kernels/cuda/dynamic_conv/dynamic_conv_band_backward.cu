#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_band.cuh"
#include "convseq/kernels/cuda/dynamic_conv/dynamic_conv_taps.cuh"

namespace convseq::kernels {
namespace {

constexpr int kBlockRows = 256;
constexpr int kChunk = kBandWarps * kBandTile;
constexpr int kBlocksPerSm = 4;  // as many as shared memory allows

// Ring buffers of rows, prefetched one chunk ahead. A step transposes its outputs in rows that it
// no longer needs.
template <int K>
struct DynamicBackwardMemory {
  static constexpr int kReach = (band_blocks(K) - 1) * kBandTile;
  static constexpr int kRing = kReach + (1 + kDynamicPrefetch) * kChunk;
  bf16* dy;
  bf16* x;
  SplitTaps<K> taps;  // not prefetched: the next taps are in registers

  __device__ explicit DynamicBackwardMemory(uint4* memory)
      : dy(reinterpret_cast<bf16*>(memory)),
        x(dy + kRing * kBandStrip),
        taps{x + kRing * kBandStrip} {}

  static constexpr size_t bytes() {
    return 2 * kRing * kBandStrip * sizeof(bf16) + SplitTaps<K>::kBytes;
  }

  __device__ static int ring_row(int row) { return row >= kRing ? row - kRing : row; }

  // The shape of the ring buffer for matmuls with windows of `kernel` taps.
  __device__ static BandShape window(int kernel) {
    BandShape shape{};
    shape.kernel = kernel;
    shape.dilation = 1;
    shape.ring = kRing;
    return shape;
  }

  // Copies kTiles · 16 rows from position `first` on to ring rows `to` … (a multiple of 16).
  template <int kTiles>
  __device__ static void copy(const BandRows& rows, int first, int to, bf16* ring) {
    static_assert(kBandThreads / kBandVectors == kBandTile && kRing % kBandTile == 0);
    const int row = threadIdx.x / kBandVectors, vec = threadIdx.x % kBandVectors;
    bf16* own = band_vector(ring, row, vec);
    const bf16* from = rows.start + int64_t{first + row} * rows.pitch + vec * kBandValues;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile, from += int64_t{kBandTile} * rows.pitch) {
      const auto position = static_cast<unsigned>(first + tile * kBandTile + row);
      cp_async_16(own + ring_row(to + tile * kBandTile) * kBandStrip, from,
                  position < static_cast<unsigned>(rows.real));
    }
  }
};

template <class Tap>
struct DynamicBackwardArrays {
  const bf16* x;
  const Tap* taps;
  const bf16* dy;
  bf16* dx;
  Tap* dtaps;
};

// Rows of x before the first that the taps read, so that vectors of taps and of accumulators align.
__host__ __device__ inline int rows_ahead(int left) { return (8 - left % 8) % 8; }

// The gradients of the taps of a warp's 16 positions. Row r, column q belongs to tap q − ahead − r.
template <class Tap, int K>
struct TapGradients {
  static constexpr int kBlocks = band_blocks(K);
  static constexpr int kPitch = kBlocks * kBandTile + 8;
  static constexpr int kRowsPerPass = sizeof(Tap) == sizeof(bf16) ? kBandTile : kBandTile / 2;
  static_assert(kRowsPerPass * kPitch * sizeof(Tap) <= kBandTile * kBandStrip * sizeof(bf16));
  Pack<Tap, 2> pairs[kBlocks][2][2];

  // The gradient of the logits, in place: p · (d − Σ p · d over the row), where p is their softmax.
  __device__ static void to_logits(const float (&p)[kBlocks][2][4], float (&d)[kBlocks][2][4]) {
    float dots[2] = {};
#pragma unroll
    for (int i = 0; i < kBlocks * 8; ++i) {
      dots[i / 2 % 2] += p[i / 8][i / 4 % 2][i % 4] * d[i / 8][i / 4 % 2][i % 4];
    }
#pragma unroll
    for (float& mean : dots) {
      mean = quad_sum(mean);
    }
#pragma unroll
    for (int i = 0; i < kBlocks * 8; ++i) {
      float& value = d[i / 8][i / 4 % 2][i % 4];
      value = p[i / 8][i / 4 % 2][i % 4] * (value - dots[i / 2 % 2]);
    }
  }

  __device__ void pack(const float (&d)[kBlocks][2][4]) {
#pragma unroll
    for (int i = 0; i < kBlocks * 4; ++i) {
      const float(&four)[4] = d[i / 4][i / 2 % 2];
      const float two[2] = {four[i % 2 * 2], four[i % 2 * 2 + 1]};
      pairs[i / 4][i / 2 % 2][i % 2] = pack_values<Tap>(two);
    }
  }

  // Writes to `dtaps`, the rows of one head, through `stage` in shared memory.
  __device__ void write(const TapRows<Tap>& rows, int position, int ahead, Tap* stage,
                        Tap* dtaps) const {
    const int lane = threadIdx.x % kLanes;
    const TapLane<K> part;
    constexpr int kStored = TapLane<K>::kCount * kRowsPerPass / kBandTile;
    const Tap* from = stage + part.first_row * (kPitch + 1) + ahead + part.tap;
    Tap* to = dtaps + int64_t{position + part.first_row} * rows.pitch + part.tap;
    const int64_t step = int64_t{TapLane<K>::kRowsPerPass} * rows.pitch;
    keep_pointer(to);
    const int real = part.holds() ? rows.time - position - part.first_row : 0;
#pragma unroll
    for (int first = 0; first < kBandTile; first += kRowsPerPass) {
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kBlocks * 2 * kRowsPerPass / 8; ++i) {
        const int column = i % (kBlocks * 2), eight = i / (kBlocks * 2);
        Tap* at = stage + (lane / 4 + eight * 8) * kPitch + column * 8 + lane % 4 * 2;
        *reinterpret_cast<Pack<Tap, 2>*>(at) = pairs[column / 2][column % 2][first / 8 + eight];
      }
      __syncwarp();
      Tap values[kStored];
#pragma unroll
      for (int i = 0; i < kStored; ++i) {
        values[i] = from[i * TapLane<K>::kRowsPerPass * (kPitch + 1) + first];
      }
#pragma unroll
      for (int i = 0; i < kStored; ++i, to += step) {
        if (first + i * TapLane<K>::kRowsPerPass < real) *to = values[i];
      }
    }
    __syncwarp();
  }
};

// store_sums() and store_band_rows() with fewer instructions: swizzled addresses by XOR.
__device__ inline void store_sums_by_xor(bf16* rows, const BandSums& sums) {
  const int row = threadIdx.x % kLanes / 4;
  const int own = row * kBandStrip + row * kBandValues + threadIdx.x % 4 * 2;
#pragma unroll
  for (int n = 0; n < kBandVectors; ++n) {
    bf16* to = rows + (own ^ (n * kBandValues));
    *reinterpret_cast<unsigned*>(to) = pack_pair(sums[n][0], sums[n][1]);
    *reinterpret_cast<unsigned*>(to + 8 * kBandStrip) = pack_pair(sums[n][2], sums[n][3]);
  }
}

// The first `real` of 16 rows.
__device__ inline void write_rows(bf16* rows, int pitch, int real, bf16* to) {
  constexpr int kRowsPerPass = kLanes / kBandVectors;
  const int row = threadIdx.x % kLanes / kBandVectors, vec = threadIdx.x % kBandVectors;
  to += row * pitch + vec * kBandValues;
  keep_pointer(to);
#pragma unroll
  for (int r = 0; r < kBandTile; r += kRowsPerPass, to += int64_t{kRowsPerPass} * pitch) {
    const uint4 values = *reinterpret_cast<const uint4*>(band_vector(rows, r + row, vec));
    if (r + row < real) *reinterpret_cast<uint4*>(to) = values;
  }
}

template <class Tap, int K>
__global__ void __launch_bounds__(kBandThreads, kBlocksPerSm)
    dynamic_backward_kernel(BandShape shape, TapForm form, DynamicBackwardArrays<Tap> arrays) {
  grid_dependency_wait();
  extern __shared__ uint4 shared_memory[];
  using Memory = DynamicBackwardMemory<K>;
  constexpr int kReach = Memory::kReach;
  const Memory memory(shared_memory);
  const BandCoord coord(shape);
  const int64_t sequence = int64_t{coord.batch} * shape.time * shape.channels;
  const int channel = coord.strip * kBandStrip;
  const BandRows dy{arrays.dy + sequence + channel, shape.channels, shape.time};
  const BandRows x{arrays.x + sequence + channel, shape.channels, shape.time};
  const TapRows<Tap> tap_rows(shape, coord, arrays.taps, form.stride);
  Tap* dtaps = arrays.dtaps + (tap_rows.start - arrays.taps);
  const int before = K - 1 - shape.left;  // rows of dy before the block's own
  const int ahead = rows_ahead(shape.left);
  const int dy_first = coord.first - before;
  const int x_first = coord.first - shape.left - ahead;
  const int lane = threadIdx.x % kLanes;
  const int warp_row = threadIdx.x / kLanes * kBandTile;
  const Tap fill = from_float<Tap>(form.softmax && !TapLane<K>().holds() ? -INFINITY : 0.f);
  WarpTaps<Tap, K> next_taps;

  Memory::template copy<(kReach + kChunk) / kBandTile>(dy, dy_first, 0, memory.dy);
  Memory::template copy<(kReach + kChunk) / kBandTile>(x, x_first, 0, memory.x);
  cp_async_commit_group();
  memory.taps.clear();
  __syncthreads();
  Tap* free = reinterpret_cast<Tap*>(memory.dy + (kReach + kChunk + warp_row) * kBandStrip);
  for (int row = warp_row; row < kReach + kChunk; row += kChunk) {
    next_taps.load(tap_rows, dy_first + row, fill);
    memory.taps.store(next_taps, form.softmax, row, free);
    __syncwarp();
  }

  int start = 0, tap_start = 0;  // the step's first rows in the ring buffers
  for (int step = 0; step < coord.steps; ++step) {
    const int position = coord.first + step * kChunk + warp_row;
    const bool has_next = step + 1 < coord.steps;
    cp_async_wait_group<0>();
    __syncthreads();
    if (has_next) {
      const int added = kReach + (step + 1) * kChunk;
      const int to = Memory::ring_row(start + kReach + kChunk);
      Memory::template copy<kBandWarps>(dy, dy_first + added, to, memory.dy);
      Memory::template copy<kBandWarps>(x, x_first + added, to, memory.x);
      next_taps.load(tap_rows, dy_first + added + warp_row, fill);
    }
    cp_async_commit_group();

    // d[i][j] = dy[i] · x[i − left + j], summed over the channels of the head.
    TapGradients<Tap, K> gradients;
    {
      BandAccumulators<band_blocks(K)> accumulators = {};
      const int own = start + warp_row + before + lane % kBandTile;
      accumulators.add(Memory::window(K + ahead), memory.dy, Memory::ring_row(own), memory.x,
                       start + warp_row);
      if (form.softmax) {
        float p[band_blocks(K)][2][4];
        memory.taps.load_rows(tap_start + warp_row + before, ahead, p);
        gradients.to_logits(p, accumulators.sums);
      }
      gradients.pack(accumulators.sums);
    }
    BandTaps<band_blocks(K)> band;
    memory.taps.load_band(tap_start + warp_row, band);
    BandSums sums = {};
    matmul_taps(Memory::window(K), band, memory.dy, start + warp_row, sums);
    __syncthreads();  // all warps have read the first rows of the chunk

    const int done = Memory::ring_row(start + warp_row) * kBandStrip;
    Tap* stage = reinterpret_cast<Tap*>(memory.dy + done);
    store_sums_by_xor(memory.x + done, sums);
    gradients.write(tap_rows, position, ahead, stage, dtaps);
    write_rows(memory.x + done, shape.channels, shape.time - position,
               arrays.dx + sequence + int64_t{position} * shape.channels + channel);
    const int put_first = SplitTaps<K>::ring_row(tap_start + warp_row);
    if (has_next) memory.taps.store(next_taps, form.softmax, put_first, stage);
    start = Memory::ring_row(start + kChunk);
    tap_start = SplitTaps<K>::ring_row(tap_start + kChunk);
  }
}

}  // namespace

bool band_dynamic_backward(const ConvShape& shape, const DynamicConvBackward& arrays,
                           cudaStream_t stream) {
  if (!fits_dynamic_band(shape)) return false;
  if (!is_aligned(arrays.x) || !is_aligned(arrays.dy) || !is_aligned(arrays.dx)) return false;
  if (shape.kernel + rows_ahead(static_cast<int>(shape.left)) >
      (band_blocks(static_cast<int>(shape.kernel)) - 1) * kBandTile + 1) {
    return false;
  }
  const BandShape band = band_shape(shape, kBlockRows, kDynamicPrefetch);
  const unsigned blocks =
      checked_grid(shape.batch * band.segments * band.strips, "dynamic_conv_backward");
  return with_type(arrays.taps.type, [&](auto type) {
    using Tap = decltype(type);
    return with_dynamic_kernel_size(shape.kernel, [&](auto size) {
      const auto kernel = dynamic_backward_kernel<Tap, size.value>;
      const size_t bytes = DynamicBackwardMemory<size.value>::bytes();
      allow_shared_memory(kernel, bytes);
      launch_dependent(
          kernel, blocks, kBandThreads, bytes, stream, band, form_of(shape, arrays.taps),
          {static_cast<const bf16*>(arrays.x), static_cast<const Tap*>(arrays.taps.values),
           static_cast<const bf16*>(arrays.dy), static_cast<bf16*>(arrays.dx),
           static_cast<Tap*>(arrays.dtaps)});
    });
  });
}

}  // namespace convseq::kernels
